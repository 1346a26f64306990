"""All benchmarks in one run, and the page of their figures, docs/performance.md."""
