"""Rounds of the Coffee Company's vans: windows, loads, charge, pad, notes; see README.md."""
