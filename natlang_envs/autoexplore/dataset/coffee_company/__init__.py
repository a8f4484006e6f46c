"""Builds the Coffee Company: a made-up company in documents, code and tables."""
