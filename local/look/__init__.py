"""What can be read of a running platform: status, progress, lake, quarantine."""
