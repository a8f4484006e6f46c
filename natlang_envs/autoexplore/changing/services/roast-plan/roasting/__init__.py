"""Plans a week of the roastery: orders, batches, slots, bags, cupping; see README.md."""
