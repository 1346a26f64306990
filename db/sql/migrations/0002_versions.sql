-- What has been applied to this outbox, the newest last: how `./lake source migrate` knows what is left to do, and what is
-- too new for it. `views` is the text of 03_outbox.sql, from which outbox_alter() makes the views anew.
CREATE TABLE datalake.outbox_versions (
    id         INTEGER     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sql_hash   TEXT        NOT NULL,
    mode       TEXT        NOT NULL,
    steps      TEXT[]      NOT NULL,
    views      TEXT        NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- A row while outbox rows may still say what an earlier version said: those of higher ids than this.
CREATE TABLE datalake.outbox_refresh (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    after_order_id INTEGER NOT NULL
);
