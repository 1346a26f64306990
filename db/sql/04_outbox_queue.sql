-- What no commit waits for: edits that many orders embed, and changes made with a frozen snapshot. docs/decisions/0010.

-- Do one piece of the queue, in READ COMMITTED and a transaction of its own, so that nobody waits for more than one piece.
-- Returns false when nothing is due. What fails is kept, with the reason, and tried again later; the rest goes on.
CREATE OR REPLACE FUNCTION datalake.outbox_drain_step() RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
    -- A writer that holds its orders for long holds up neither the rest of the queue nor who drains it.
    SET lock_timeout = '2s'
AS $$
DECLARE
    moment CONSTANT TIMESTAMPTZ := clock_timestamp();
    piece  CONSTANT INTEGER := (SELECT s.piece_orders FROM datalake.outbox_settings s);
    batch  datalake.outbox_queue[];
    work   datalake.outbox_queue;
    fits   BOOLEAN;
BEGIN
    PERFORM datalake.outbox_refuse_frozen();
    SELECT array_agg(q) INTO batch
    FROM (
        SELECT * FROM datalake.outbox_queue d
        WHERE d.due_at <= moment ORDER BY d.cut, d.due_at, d.id LIMIT 100 FOR UPDATE SKIP LOCKED
    ) AS q;
    IF batch IS NULL THEN
        RETURN FALSE;
    END IF;
    work := batch[1];
    fits := work.entity = 'order' AND cardinality(work.keys) <= piece;
    IF fits AND NOT work.cut AND work.error IS NULL THEN
        -- Changes of single transactions: as many as are a piece. A fan-out, or what has failed before, is done by itself.
        batch := ARRAY(
            SELECT c.note
            FROM (
                SELECT b AS note, sum(cardinality(b.keys)) OVER (ROWS UNBOUNDED PRECEDING) AS orders
                FROM unnest(batch) AS b WHERE b.entity = 'order' AND NOT b.cut AND b.error IS NULL
            ) AS c WHERE c.orders <= piece
        );
    ELSE
        batch := ARRAY[work];
    END IF;
    BEGIN
        IF fits THEN
            PERFORM datalake.outbox_drain_orders(batch);
        ELSIF work.cut OR work.entity = 'order' THEN
            PERFORM datalake.outbox_drain_fan_out(work);
        ELSE
            -- Once nobody else writes, each order that embeds the row without the edit has been committed.
            PERFORM datalake.outbox_enter(alone => TRUE);
            UPDATE datalake.outbox_queue q SET cut = TRUE WHERE q.id = work.id;
        END IF;
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING 'outbox_queue %: %', work.id, SQLERRM;
        PERFORM datalake.outbox_drain_later(batch, SQLSTATE, SQLERRM);
    END;
    RETURN TRUE;
END
$$;

CREATE OR REPLACE FUNCTION datalake.outbox_drain_orders(batch datalake.outbox_queue[]) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    order_ids   INTEGER[];
    order_parts INTEGER[];
BEGIN
    PERFORM datalake.outbox_enter(alone => FALSE);
    SELECT array_agg(c.order_id), array_agg(c.parts) INTO order_ids, order_parts
    FROM (
        SELECT key::INTEGER AS order_id, bit_or(b.parts) AS parts FROM unnest(batch) AS b, unnest(b.keys) AS key GROUP BY 1
    ) AS c;
    PERFORM datalake.outbox_write(order_ids, order_parts);
    DELETE FROM datalake.outbox_queue q WHERE q.id IN (SELECT b.id FROM unnest(batch) AS b);
END
$$;

-- In place of an edit the orders that embed the row, in pieces; also in place of more orders than a piece has.
CREATE OR REPLACE FUNCTION datalake.outbox_drain_fan_out(work datalake.outbox_queue) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    INSERT INTO datalake.outbox_queue (entity, keys, parts, cut, queued_at)
    SELECT 'order', array_agg(o.order_id ORDER BY o.order_id)::TEXT[], work.parts, TRUE, work.queued_at
    FROM (
        SELECT n.order_id, (row_number() OVER (ORDER BY n.order_id) - 1) / s.piece_orders AS piece
        FROM (SELECT DISTINCT datalake.outbox_orders_of(work.entity, work.keys, NULL) AS order_id) AS n
        CROSS JOIN datalake.outbox_settings s
    ) AS o
    GROUP BY o.piece ORDER BY o.piece;
    DELETE FROM datalake.outbox_queue q WHERE q.id = work.id;
END
$$;

-- After a failure: orders that were tried together are tried one by one; one that fails, later, and each time later still.
CREATE OR REPLACE FUNCTION datalake.outbox_drain_later(batch datalake.outbox_queue[], state TEXT, reason TEXT) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF batch[1].entity = 'order' AND (cardinality(batch) > 1 OR cardinality(batch[1].keys) > 1) THEN
        INSERT INTO datalake.outbox_queue (entity, keys, parts, cut, queued_at, due_at, error)
        SELECT 'order', ARRAY[key], b.parts, b.cut, b.queued_at,
               -- Somebody holds one of them: give him time.
               clock_timestamp() + CASE WHEN state IN ('55P03', '40P01') THEN INTERVAL '1 s' ELSE INTERVAL '0' END, reason
        FROM unnest(batch) AS b, unnest(b.keys) AS key;
        DELETE FROM datalake.outbox_queue q WHERE q.id IN (SELECT b.id FROM unnest(batch) AS b);
    ELSE
        UPDATE datalake.outbox_queue q
        SET error = reason,
            due_at = clock_timestamp() + least(greatest(clock_timestamp() - q.queued_at, INTERVAL '1 s'), INTERVAL '10 min')
        WHERE q.id = batch[1].id;
    END IF;
END
$$;

-- All that is due, piece by piece, or as much as can be begun within so many seconds. No SET here, which would forbid COMMIT.
CREATE OR REPLACE PROCEDURE datalake.outbox_drain(seconds DOUBLE PRECISION DEFAULT 'infinity')
LANGUAGE plpgsql
AS $$
DECLARE
    began CONSTANT TIMESTAMPTZ := pg_catalog.clock_timestamp();
BEGIN
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    WHILE datalake.outbox_drain_step() LOOP
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        -- The server has no >= of numeric and float8: one in the caller's search_path would be taken.
        EXIT WHEN EXTRACT(EPOCH FROM pg_catalog.clock_timestamp() - began) OPERATOR(pg_catalog.>=) seconds;
    END LOOP;
    COMMIT;
END
$$;

-- What the connector does now and then. While it runs, the queue gets shorter; while it doesn't, nothing gets to the lake anyway.
CREATE OR REPLACE PROCEDURE datalake.outbox_beat()
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE datalake.cdc_heartbeat SET beat_at = pg_catalog.now() WHERE id = 1;
    CALL datalake.outbox_drain(seconds => 2);
END
$$;

-- How far the outbox is behind the tables.
CREATE OR REPLACE VIEW datalake.outbox_lag AS
SELECT count(*) AS entries,
       coalesce(sum(cardinality(q.keys)) FILTER (WHERE q.entity = 'order'), 0) AS orders,
       min(q.queued_at) AS oldest,
       count(*) FILTER (WHERE q.error IS NOT NULL) AS failing,
       max(q.error) AS error
FROM datalake.outbox_queue q;
