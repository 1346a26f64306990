-- What the connector's role may do here; the loader makes it, with a password that only the loader knows.
GRANT USAGE ON SCHEMA datalake TO cdc_connector;
GRANT SELECT ON datalake.cdc_events, datalake.cdc_heartbeat TO cdc_connector;
GRANT UPDATE (beat_at) ON datalake.cdc_heartbeat TO cdc_connector;
GRANT EXECUTE ON PROCEDURE datalake.outbox_beat, datalake.outbox_drain TO cdc_connector;
GRANT EXECUTE ON FUNCTION datalake.outbox_drain_step TO cdc_connector;
