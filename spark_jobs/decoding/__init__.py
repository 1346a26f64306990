"""From lines to typed rows, or a reason why not; DataFrames in and out."""
