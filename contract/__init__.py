"""Names and formats all programs share: standard library only, and no imports from our other packages."""
