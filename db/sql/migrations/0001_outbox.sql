-- The outbox's tables. Numbered steps run once each, in order; what is here stays as it is for good.

-- One row per order with all that belongs to it, kept up to date by triggers.
CREATE TABLE datalake.cdc_events (
    order_id      INTEGER NOT NULL PRIMARY KEY,
    customer_id   BPCHAR,
    order_date    DATE,
    required_date DATE,
    shipped_date  DATE,
    order_items   JSONB,
    products      JSONB,
    customer      JSONB,
    employee      JSONB,
    shipper       JSONB,
    shipment      JSONB,
    updated_at    TIMESTAMPTZ
);

-- Every event carries the whole row: no placeholder for an unchanged TOAST value, no delete that has only its key.
ALTER TABLE datalake.cdc_events REPLICA IDENTITY FULL;

-- What this transaction has changed and the outbox may not show yet. A row lives no longer than its transaction.
CREATE UNLOGGED TABLE datalake.outbox_pending (
    transaction_id XID8    NOT NULL,
    entity         TEXT    NOT NULL, -- the kind of row that changed
    keys           TEXT[]  NOT NULL, -- and which ones
    parts          INTEGER NOT NULL,
    edits_seen     BIGINT            -- mode `statement`: slot 0's count when this was written to the outbox
);
CREATE INDEX outbox_pending_transaction_id ON datalake.outbox_pending (transaction_id);

-- Counts of commits. Slot 0 counts those that edited what orders embed; the others, one per session (by its process id),
-- those that changed orders. Locking a slot that changed since one's snapshot is a serialization failure: what
-- REPEATABLE READ needs in place of a stale outbox row.
CREATE TABLE datalake.outbox_gate (
    slot    INTEGER PRIMARY KEY,
    commits BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO datalake.outbox_gate (slot) SELECT generate_series(0, 256);

-- A heartbeat that moves the slot on while the outbox is quiet.
CREATE TABLE datalake.cdc_heartbeat (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    beat_at TIMESTAMPTZ NOT NULL
);
INSERT INTO datalake.cdc_heartbeat VALUES (1, now());
