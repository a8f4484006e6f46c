"""Commands that make the labelled dataset."""
