"""The tiny model: how it is made and warmed up."""
