-- What PostgreSQL keeps no statistics of: what an erasure takes.
--
-- pg_statistic would show its values, also when the rows are gone, for whoever reads the catalogue or the
-- files. So none are kept of texts, bytes and lists of them, but for what no erasure takes: names of
-- our own, digests that stay, and tables that hold no content. A column that a later step adds is
-- left out by itself.
-- Citus keeps the statistics of shards, and takes no such ALTER but there: `citus_statistics` in queries.sql.

CREATE OR REPLACE FUNCTION {log}.unstated_columns() RETURNS TABLE (in_table regclass, attname name)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    shown CONSTANT text[] := ARRAY[
        'caller.*', 'checkpoint.*', 'erasure.*', 'generation.*', 'meta.*', 'migration.*', 'parked.*',
        'part.*', 'tenant.*', 'tracking.*', 'view.*', 'worker.*',
        'event.pointer', 'event.type', 'event.header', 'event.digest', 'event.leaf',
        'view_audit.actor', 'view_audit.type', 'view_search.type', 'view_search.role',
        'view_tool_ledger.kind', 'view_tool_ledger.status', 'view_usage.api', 'view_usage.model',
        'view_window.role'
    ];
BEGIN
    RETURN QUERY
    SELECT c.oid::regclass, a.attname FROM pg_class AS c
    JOIN pg_attribute AS a ON a.attrelid = c.oid
    WHERE c.relnamespace = '{log}'::regnamespace AND c.relkind = 'r'
        AND a.attnum > 0 AND NOT a.attisdropped AND a.attstattarget IS DISTINCT FROM 0
        AND a.atttypid::regtype::text
            IN ('text', 'bytea', 'jsonb', 'tsvector', 'text[]', 'bytea[]')
        AND c.relname || '.*' <> ALL (shown)
        AND c.relname || '.' || a.attname <> ALL (shown)
    ORDER BY c.relname, a.attnum;
END $$;

DO $$
DECLARE
    hidden record;
BEGIN
    IF EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'citus') THEN
        RETURN;
    END IF;
    FOR hidden IN SELECT u.in_table, u.attname FROM {log}.unstated_columns() AS u LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0',
            hidden.in_table, hidden.attname);
    END LOOP;
END $$;
