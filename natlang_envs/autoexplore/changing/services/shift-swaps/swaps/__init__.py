"""Rotas of the Coffee Company: rules, swaps, breaks, banked hours; see README.md."""
