"""Language models as players: loading, choosing, writing, adapters."""
