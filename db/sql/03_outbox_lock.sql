-- Wait until nobody writes what orders embed, and keep writers out until this transaction ends; readers go on. Raises
-- lock_not_available when that hasn't come about within `patience`.
-- An attempt queues for less than deadlock_timeout (1 s), so of a sale and this, when they wait for each other, it is this
-- that gives way, and the sale that goes on. The table that was waited for in vain comes first in the next attempt, so it soon
-- takes them in the order in which sales do. Where sales have no common order, each would meet one that holds what it wants:
-- for them there are looks without queueing in between, which take the moment when nobody writes.
CREATE OR REPLACE FUNCTION datalake.outbox_lock(patience INTERVAL) RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    queueing CONSTANT INTEGER := 500; -- ms
    looks    CONSTANT INTEGER := 100; -- between two attempts that queue
    give_up  CONSTANT TIMESTAMPTZ := clock_timestamp() + patience;
    outer_timeout CONSTANT TEXT := current_setting('lock_timeout');
    attempt  INTEGER := 0;
    ends     TIMESTAMPTZ;
    captured TEXT[];
    source   TEXT;
BEGIN
    SELECT array_agg(c.relname ORDER BY c.relname <> 'orders', c.relname <> 'order_details', c.relname) INTO captured
    FROM pg_class c
    WHERE EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname LIKE 'outbox\_%' AND t.tgconstraint = 0)
      AND c.relnamespace = 'datalake'::REGNAMESPACE AND c.relkind IN ('r', 'p') AND c.relname NOT LIKE 'outbox\_%';
    LOOP
        ends := clock_timestamp() + make_interval(secs => CASE WHEN attempt % looks = 0 THEN queueing ELSE 1 END / 1000.0);
        BEGIN
            FOREACH source IN ARRAY captured LOOP
                PERFORM set_config(
                    'lock_timeout',
                    format('%sms', greatest(1, floor(1000 * extract(epoch FROM ends - clock_timestamp())))), TRUE);
                EXECUTE format('LOCK TABLE datalake.%I IN SHARE ROW EXCLUSIVE MODE', source);
            END LOOP;
            PERFORM set_config('lock_timeout', outer_timeout, TRUE);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            IF clock_timestamp() > give_up THEN
                RAISE EXCEPTION 'the table % is in use', source USING ERRCODE = 'lock_not_available';
            END IF;
            IF attempt % looks = 0 THEN
                captured := source || array_remove(captured, source);
            END IF;
        END;
        attempt := attempt + 1;
        PERFORM pg_sleep(0.01);
    END LOOP;
END
$$;

-- Make room for the views to be created again. One that somebody else's view depends on stays, with an error.
CREATE OR REPLACE FUNCTION datalake.outbox_drop_views() RETURNS VOID
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    ours TEXT;
BEGIN
    SELECT string_agg(c.oid::REGCLASS::TEXT, ', ') INTO ours
    FROM pg_class c
    WHERE c.relkind = 'v' AND c.relnamespace = 'datalake'::REGNAMESPACE AND c.relname LIKE 'current\_order\_%';
    IF ours IS NOT NULL THEN
        EXECUTE format('DROP VIEW %s', ours);
    END IF;
END
$$;
