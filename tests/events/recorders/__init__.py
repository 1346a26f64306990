"""Record what the real Debezium sends."""
