"""The two connectors: settings, configurations, topics, rights and releases."""
