"""The labelled dataset of AutoExplore: its repositories, its labels, and what checks, measures and makes them."""
