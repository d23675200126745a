-- Who may do what. Every table that has tenants shows a bound role its own tenant's rows only.
--
-- A policy is made where it is not the same already, which its comment tells: it takes a lock that no
-- reader and no writer may hold, of many tables at once, so that writers would be made to give up.
-- The tenant is asked for once a statement. Citus takes no subquery here, so there it is once a row.

DO $$
DECLARE
    rule CONSTANT text := 'tenant = coalesce({bound}, tenant) OR tenant = {operators}';
    guarded name;
BEGIN
    FOR guarded IN
        SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
        WHERE c.relnamespace = '{log}'::regnamespace AND c.relkind = 'r'
            AND a.attname = 'tenant' AND NOT a.attisdropped AND c.relname <> 'caller'
            AND NOT EXISTS (
                SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polname = 'own'
                    AND obj_description(p.oid, 'pg_policy') = rule)
    LOOP
        EXECUTE format('ALTER TABLE {log}.%I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('DROP POLICY IF EXISTS own ON {log}.%I', guarded);
        EXECUTE format('CREATE POLICY own ON {log}.%I USING (%s)', guarded, rule);
        EXECUTE format('COMMENT ON POLICY own ON {log}.%I IS %L', guarded, rule);
    END LOOP;
END $$;

-- What each kind of role may call: nothing that is not named here.
CREATE OR REPLACE FUNCTION {log}.verbs_of(as_what text) RETURNS name[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY['bound_operators', 'bound_tenant', 'clock', 'erasures', 'has_residue', 'identity',
        'is_encrypted', 'moment', 'operators_of', 'parts', 'shards']::name[] || CASE
        WHEN as_what IN ('runtime', 'gateway') THEN ARRAY['append', 'keep_actor_name', 'keep_snapshot',
            'mark_encrypted', 'must_take', 'open_conversation', 'put_chunk', 'seal_blob', 'search_rows', 'track']::name[]
        WHEN as_what = 'eraser' THEN
            ARRAY['append', 'forget', 'keep_actor_name', 'search_rows', 'sweep_blobs']::name[]
        WHEN as_what = 'issuer' THEN ARRAY['append', 'keep_actor_name', 'search_rows']::name[]
        WHEN as_what = 'sealer' THEN '{}'::name[]
        WHEN as_what = 'auditor' THEN ARRAY['append', 'keep_actor_name', 'search_rows']::name[]
        WHEN as_what = 'operator' THEN
            ARRAY['append', 'hold_off_erasures', 'keep_actor_name', 'search_rows']::name[]
        ELSE ARRAY['hold_off_erasures', 'search_rows']::name[] END
$$;

-- Which statements each kind of role may run on a table. A sealer reads columns of few, and nobody but the
-- owner the keys of the log. UPDATE and DELETE also let a role lock a table, or its rows, against everybody: they
-- are given to roles that serve all tenants, and of what is made of the log.
CREATE OR REPLACE FUNCTION {log}.statements_of(as_what text, of_table name, is_bound boolean) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN as_what = 'sealer' THEN CASE of_table
            WHEN 'migration' THEN 'SELECT'
            WHEN 'tenant' THEN 'SELECT (tenant, shard)'
            WHEN 'event' THEN 'SELECT (shard, position, conversation_id, version, tenant, recorded_at, digest, leaf)'
            WHEN 'conversation_head' THEN
                'SELECT (conversation_id, tenant, shard, version, position, started_at, recorded_at, forgotten)'
            WHEN 'erasure' THEN 'SELECT' END
        WHEN of_table = 'meta' THEN NULL
        WHEN of_table = 'caller' THEN CASE WHEN as_what = 'auditor' AND NOT is_bound THEN 'SELECT' END
        WHEN as_what = 'worker' AND of_table = 'view' THEN 'SELECT, INSERT, UPDATE (stopped, build_stopped)'
        WHEN as_what = 'operator' AND of_table = 'view' THEN 'SELECT, INSERT, UPDATE'
        WHEN as_what = 'worker' AND of_table IN ('part', 'worker') THEN 'SELECT, INSERT, UPDATE, DELETE'
        WHEN as_what IN ('worker', 'operator') AND (
            of_table IN ('generation', 'checkpoint', 'parked') OR starts_with(of_table, 'view'))
            THEN 'SELECT, INSERT, UPDATE, DELETE'
        ELSE 'SELECT' END
$$;

-- Give a role what its kind may, and take away all else.
CREATE OR REPLACE FUNCTION {log}.let_in(newcomer name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    as_what text;
    is_bound boolean;
    given record;
BEGIN
    SELECT c.kind, c.tenant IS NOT NULL INTO as_what, is_bound
    FROM {log}.caller AS c WHERE c.role = newcomer;
    EXECUTE format('GRANT USAGE ON SCHEMA {log} TO %I', newcomer);
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA {log} FROM %I', newcomer);
    EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {log} FROM %I', newcomer);
    FOR given IN
        SELECT c.relname, {log}.statements_of(as_what, c.relname, is_bound) AS statements
        FROM pg_class AS c WHERE c.relnamespace = '{log}'::regnamespace AND c.relkind = 'r'
    LOOP
        IF given.statements IS NOT NULL THEN
            EXECUTE format('GRANT %s ON {log}.%I TO %I', given.statements, given.relname, newcomer);
        END IF;
    END LOOP;
    FOR given IN
        SELECT p.oid::regprocedure AS verb FROM pg_proc AS p
        WHERE p.pronamespace = '{log}'::regnamespace AND p.proname = ANY ({log}.verbs_of(as_what))
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', given.verb, newcomer);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION {log}.let_in_as(newcomer name, as_what text, bound uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM {log}.caller AS c WHERE c.role = newcomer;
    INSERT INTO {log}.caller (role, kind, tenant) VALUES (newcomer, as_what, bound);
    PERFORM {log}.let_in(newcomer);
END $$;

-- Let a role read and append; `bound` binds it to one tenant, null unbinds it. It may erase nothing.
CREATE OR REPLACE FUNCTION {log}.admit(newcomer name, bound uuid DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT {log}.let_in_as(newcomer, 'runtime', bound)
$$;

-- Let a role read and erase; it appends to the operators' stream only. `bound` binds it to one tenant.
CREATE OR REPLACE FUNCTION {log}.admit_eraser(newcomer name, bound uuid DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT {log}.let_in_as(newcomer, 'eraser', bound)
$$;

-- Let a role read and append as a runtime does, and tell of keys of the service that were used: that of
-- `onrecord serve`. It makes no key and takes none back. `bound` binds it to one tenant.
CREATE OR REPLACE FUNCTION {log}.admit_gateway(newcomer name, bound uuid DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT {log}.let_in_as(newcomer, 'gateway', bound)
$$;

-- Let a role read, make keys of the service and take them back; it appends nothing else. `bound` binds it
-- to one tenant: then it makes no key for all tenants.
CREATE OR REPLACE FUNCTION {log}.admit_issuer(newcomer name, bound uuid DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT {log}.let_in_as(newcomer, 'issuer', bound)
$$;

-- Let a role read and keep views up to date: that of workers. They fold what all tenants said.
CREATE OR REPLACE FUNCTION {log}.admit_worker(newcomer name) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT {log}.let_in_as(newcomer, 'worker', NULL)
$$;

-- Let a role read, and pause, resume, retry and rebuild views; it tells what it read.
CREATE OR REPLACE FUNCTION {log}.admit_operator(newcomer name) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT {log}.let_in_as(newcomer, 'operator', NULL)
$$;

-- Let a role read, and change nothing; it tells what it read, where that is recorded. `bound` binds it to one tenant.
CREATE OR REPLACE FUNCTION {log}.admit_auditor(newcomer name, bound uuid DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT {log}.let_in_as(newcomer, 'auditor', bound)
$$;

-- Let a role read leaves and heads, of which roots are made, and no content.
CREATE OR REPLACE FUNCTION {log}.admit_sealer(newcomer name, bound uuid DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT {log}.let_in_as(newcomer, 'sealer', bound)
$$;

-- The roles that were admitted. One that was dropped, and made anew, has no right to the schema.
CREATE OR REPLACE FUNCTION {log}.admitted() RETURNS SETOF name
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.role FROM {log}.caller AS c JOIN pg_roles AS r ON r.rolname = c.role
    WHERE has_schema_privilege(r.oid, '{log}', 'USAGE')
$$;

-- Give every role that was admitted before its rights to what a migration adds.
CREATE OR REPLACE FUNCTION {log}.renew_admissions() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    admitted name;
BEGIN
    FOR admitted IN SELECT {log}.admitted() LOOP
        PERFORM {log}.let_in(admitted);
    END LOOP;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {log} FROM PUBLIC;
SELECT {log}.renew_admissions();
