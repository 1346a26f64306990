"""MSK Connect's connectors and plugins as custom resources."""
