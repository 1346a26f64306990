"""The two demos: six changes of orders, and the places by queries alone."""
