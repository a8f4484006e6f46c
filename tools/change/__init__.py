"""Commands that make change tasks."""
