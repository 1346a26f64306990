-- What many projects have: each changed row, before and after, in a table that only grows.
CREATE TABLE datalake.bench_audit (
    id         BIGINT      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    changed_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    table_name TEXT        NOT NULL,
    operation  TEXT        NOT NULL,
    old_row    JSONB,
    new_row    JSONB
);
CREATE FUNCTION datalake.bench_audit() RETURNS TRIGGER
LANGUAGE plpgsql SET search_path = datalake
AS $$
BEGIN
    INSERT INTO bench_audit (table_name, operation, old_row, new_row)
    VALUES (TG_TABLE_NAME, TG_OP, to_jsonb(OLD), to_jsonb(NEW));
    RETURN NULL;
END
$$;
CREATE TRIGGER bench_audit AFTER INSERT OR UPDATE OR DELETE ON datalake.orders
    FOR EACH ROW EXECUTE FUNCTION datalake.bench_audit();
CREATE TRIGGER bench_audit AFTER INSERT OR UPDATE OR DELETE ON datalake.order_details
    FOR EACH ROW EXECUTE FUNCTION datalake.bench_audit();
CREATE TRIGGER bench_audit AFTER INSERT OR UPDATE OR DELETE ON datalake.products
    FOR EACH ROW EXECUTE FUNCTION datalake.bench_audit();
