-- How the outbox catches up with what it should say now, in pieces that other writers hardly notice: after a migration, and
-- after a change of the source's columns. docs/your-database/outbox.md shows both.

-- Note that every row has to be looked at again.
CREATE OR REPLACE FUNCTION datalake.outbox_refresh_all() RETURNS VOID
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO datalake.outbox_refresh VALUES (1, -2147483648)
    ON CONFLICT (id) DO UPDATE SET after_order_id = excluded.after_order_id
$$;

-- Bring the next `size` orders up to date; returns how many it looked at, 0 when there is nothing left to do. Writes only
-- rows that differ. Needs READ COMMITTED and a transaction of its own, so that nobody waits for more than one piece.
-- A row that is there needs no gate: under its lock it is computed from what is committed, and a later commit writes
-- it again. A commit that waits for this and has what this wants goes on: the wait is shorter than deadlock_timeout, so this
-- gives way.
CREATE OR REPLACE FUNCTION datalake.outbox_refresh_step(size INTEGER) RETURNS INTEGER
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET lock_timeout = '500ms'
AS $$
DECLARE
    last    INTEGER;
    ids     INTEGER[];
    missing BOOLEAN;
BEGIN
    size := greatest(size, 1);
    SELECT r.after_order_id INTO last FROM datalake.outbox_refresh r FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT array_agg(n.order_id ORDER BY n.order_id), bool_or(e.order_id IS NULL) INTO ids, missing
    FROM (
        (SELECT o.order_id FROM datalake.orders o WHERE o.order_id > last ORDER BY o.order_id LIMIT size)
        UNION
        (SELECT c.order_id FROM datalake.cdc_events c WHERE c.order_id > last ORDER BY c.order_id LIMIT size)
        ORDER BY order_id LIMIT size
    ) AS n
    LEFT JOIN datalake.cdc_events e ON e.order_id = n.order_id;
    IF ids IS NULL THEN
        DELETE FROM datalake.outbox_refresh;
        RETURN 0;
    END IF;
    IF missing THEN
        PERFORM datalake.outbox_refuse_frozen();
        PERFORM datalake.outbox_enter(alone => FALSE);
    END IF;
    BEGIN
        PERFORM datalake.outbox_write(ids, array_fill(15, ARRAY[cardinality(ids)]));
    EXCEPTION WHEN program_limit_exceeded THEN
        -- An event is too large: the queue keeps and shows that order, and writes the others.
        INSERT INTO datalake.outbox_queue (entity, keys, parts) VALUES ('order', ids::TEXT[], 15);
    END;
    UPDATE datalake.outbox_refresh SET after_order_id = ids[cardinality(ids)];
    RETURN cardinality(ids);
END
$$;

-- All pieces that are left, each committed. Without SET, which would forbid COMMIT; so every name is qualified.
CREATE OR REPLACE PROCEDURE datalake.usp_refresh_order_events(size INTEGER DEFAULT 500)
LANGUAGE plpgsql
AS $$
BEGIN
    WHILE datalake.outbox_refresh_step(size) OPERATOR(pg_catalog.>) 0 LOOP
        COMMIT;
    END LOOP;
END
$$;

-- Change the source's tables: run `ddl` while the views are away, create them again, and note that every row has to be looked
-- at again. Everything or nothing. Sales under way are waited for; those that come wait for moments.
-- CALL datalake.usp_refresh_order_events() afterwards does the rest.
CREATE OR REPLACE PROCEDURE datalake.usp_alter_source(ddl TEXT, patience INTERVAL DEFAULT '1 minute')
LANGUAGE plpgsql
AS $$
DECLARE
    definition TEXT;
BEGIN
    PERFORM datalake.outbox_lock(patience);
    PERFORM pg_catalog.set_config('lock_timeout', '500ms', TRUE);
    SELECT v.views INTO STRICT definition FROM datalake.outbox_versions v ORDER BY v.id DESC LIMIT 1;
    PERFORM datalake.outbox_drop_views();
    EXECUTE ddl;
    -- What the views call is the server's own, whatever the caller's path has.
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', TRUE);
    EXECUTE definition;
    PERFORM datalake.outbox_watch();
    PERFORM datalake.outbox_refresh_all();
END
$$;
