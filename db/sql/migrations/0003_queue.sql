-- Work that no commit waits for: docs/decisions/0010. A row is there until what it asks for has been written, whatever happens.
CREATE TABLE datalake.outbox_queue (
    id        BIGINT      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entity    TEXT        NOT NULL, -- the kind of row that changed; `order`: the orders whose outbox rows are to be written
    keys      TEXT[]      NOT NULL, -- and which ones
    parts     INTEGER     NOT NULL,
    touch     BOOLEAN     NOT NULL DEFAULT FALSE, -- write even what says the same already
    cut       BOOLEAN     NOT NULL DEFAULT FALSE, -- of an edit, and every order that embeds the row is in sight
    queued_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    due_at    TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(), -- later than queued_at: tried in vain, and why
    error     TEXT
);
CREATE INDEX outbox_queue_due_at ON datalake.outbox_queue (due_at);

-- inline_orders: an edit that more orders embed isn't written by the commit that made it, but piece by piece after it.
-- piece_orders: that many orders are a piece.
-- max_event_bytes: what an event may have as JSON. Less than the topic takes, or the pipeline would stop at one that is larger.
CREATE TABLE datalake.outbox_settings (
    id              INTEGER PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    inline_orders   INTEGER NOT NULL DEFAULT 500 CHECK (inline_orders >= 0),
    piece_orders    INTEGER NOT NULL DEFAULT 500 CHECK (piece_orders > 0),
    max_event_bytes INTEGER NOT NULL DEFAULT 12582912 CHECK (max_event_bytes >= 1048576)
);
INSERT INTO datalake.outbox_settings DEFAULT VALUES;

-- One counter is left of the gate's: the edits of what orders embed, which mode `statement` looks at.
DELETE FROM datalake.outbox_gate WHERE slot > 0;
