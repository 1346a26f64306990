-- What leaves the database: the outbox, and a heartbeat that moves the slot on while the outbox is quiet.
CREATE TABLE datalake.cdc_heartbeat (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    beat_at TIMESTAMPTZ NOT NULL
);
INSERT INTO datalake.cdc_heartbeat VALUES (1, now());

ALTER PUBLICATION cdc_publication SET TABLE datalake.cdc_events, datalake.cdc_heartbeat;
ALTER PUBLICATION cdc_publication SET (publish = 'insert, update, delete');
