"""Decodes lines into typed rows, or a reason why a line doesn't fit; takes and returns DataFrames."""
