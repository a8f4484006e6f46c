"""Learners' side: wrappers, encoders, and adapters of other libraries."""
