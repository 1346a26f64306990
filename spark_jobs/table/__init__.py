"""The Hudi table: commits, progress, the claim, repairs, quarantine and the catalog."""
