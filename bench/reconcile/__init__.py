"""Time and memory for comparing a large table: `./lake dev bench reconcile`."""
