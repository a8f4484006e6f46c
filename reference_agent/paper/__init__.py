"""Reproduces the paper's tables and figures."""
