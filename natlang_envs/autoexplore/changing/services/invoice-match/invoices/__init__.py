"""Supplier invoices of the Coffee Company: read, matched, approved, paid; see README.md."""
