"""The two demos: six order changes, and the places with queries alone."""
