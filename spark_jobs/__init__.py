"""The streaming job, with HoodieStreamer's options."""
