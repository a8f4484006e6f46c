"""Models that nobody fine-tuned, as agents."""
