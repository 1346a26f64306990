"""How long a comparison of a large table takes, and how much memory: `./lake dev bench reconcile`."""
