-- Views: what is folded of the log and kept, who keeps it up to date, and what erasure does to it.
--
-- PARTS. A shard is divided by conversation (the last byte of its id) into meta.parts parts. A worker
-- leases parts: onrecord.part says whose a part is and until when, by the server's clock; its epoch
-- rises with each change of hands. How far a build of a view has come in a part is its checkpoint,
-- and its rows and its checkpoint change in one transaction: the UPDATE names the position that the
-- worker began at and the epoch of its lease, and changes no row if either is another by now.
--
-- GENERATIONS. Every row of a view belongs to a generation of it. One is live: it is what is read. A
-- rebuild makes the next one beside it from position 1 on; when it has caught up they are switched.
--
-- ERASING. onrecord.forget takes what it erases out of every view in its own transaction, and holds the
-- erasure lock meanwhile. A worker's transaction holds it in share mode before it reads: what it has
-- read is not erased before its rows are written. A view's table is onrecord.view_<name>.

ALTER TABLE onrecord.meta ADD COLUMN parts smallint NOT NULL DEFAULT 4 CHECK (parts > 0);

-- Whom the worker feeds and why not: `stopped` says what made a view stand still, in our own words,
-- and `build_stopped` the same of what is made beside it, which costs the one that is read nothing.
CREATE TABLE onrecord.view (
    name text PRIMARY KEY,
    paused boolean NOT NULL DEFAULT false,
    stopped text,
    build_stopped text,
    resumed_at bigint NOT NULL DEFAULT 0
);

CREATE TABLE onrecord.generation (
    view text NOT NULL REFERENCES onrecord.view,
    number integer NOT NULL,
    revision integer NOT NULL,              -- of the fold that makes its rows
    status text NOT NULL CHECK (status IN ('building', 'live', 'retired')),
    began_at bigint NOT NULL DEFAULT onrecord.clock(),
    switched_at bigint,
    PRIMARY KEY (view, number)
);
CREATE UNIQUE INDEX generation_live ON onrecord.generation (view) WHERE status = 'live';
CREATE UNIQUE INDEX generation_building ON onrecord.generation (view) WHERE status = 'building';

CREATE TABLE onrecord.part (
    shard smallint NOT NULL,
    part smallint NOT NULL,
    owner text,
    epoch bigint NOT NULL DEFAULT 0,
    leased_until bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (shard, part)
) WITH (fillfactor = 50);

CREATE TABLE onrecord.checkpoint (
    view text NOT NULL,
    generation integer NOT NULL,
    shard smallint NOT NULL,
    part smallint NOT NULL,
    position bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (view, generation, shard, part),
    FOREIGN KEY (view, generation) REFERENCES onrecord.generation ON DELETE CASCADE
) WITH (fillfactor = 50);

-- Who is at work: how many share the parts.
CREATE TABLE onrecord.worker (
    name text PRIMARY KEY,
    seen_at bigint NOT NULL
);

-- An event that a view could not fold: its conversation waits behind it, in this view. Tried again at
-- `retry_at`; null waits for a person. `error` tells nothing of what was said.
CREATE TABLE onrecord.parked (
    view text NOT NULL,
    generation integer NOT NULL,
    conversation_id uuid NOT NULL,
    tenant uuid NOT NULL,
    shard smallint NOT NULL,
    part smallint NOT NULL,
    position bigint NOT NULL,
    version bigint NOT NULL,
    type text NOT NULL,
    kind text NOT NULL,
    error text NOT NULL,
    attempts integer NOT NULL,
    parked_at bigint NOT NULL,
    retry_at bigint,
    PRIMARY KEY (view, generation, conversation_id),
    FOREIGN KEY (view, generation) REFERENCES onrecord.generation ON DELETE CASCADE
);

-- Every onrecord.forget, numbered from 1 without gaps.
CREATE TABLE onrecord.erasure (
    number bigint PRIMARY KEY,
    conversation_id uuid NOT NULL,
    tenant uuid NOT NULL,
    erased_at bigint NOT NULL
);

INSERT INTO onrecord.part (shard, part)
SELECT s, p FROM onrecord.meta AS m,
    generate_series(0, m.shards - 1) AS s, generate_series(0, m.parts - 1) AS p;

-- How often onrecord.forget was called to effect; callers that see one tenant only see this too.
CREATE FUNCTION onrecord.erasures() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT coalesce(max(e.number), 0) FROM onrecord.erasure AS e);

-- Take what is erased out of the views, and note the erasure. Called in onrecord.forget alone. Each view
-- brings its function onrecord.forget_in_view_<name>(conversation).
CREATE FUNCTION onrecord.forget_in_views(of_conversation uuid, of_tenant uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    forgetter name;
BEGIN
    INSERT INTO onrecord.erasure (number, conversation_id, tenant, erased_at)
    SELECT coalesce(max(e.number), 0) + 1, of_conversation, of_tenant, onrecord.clock()
    FROM onrecord.erasure AS e;
    FOR forgetter IN
        SELECT p.proname FROM pg_proc AS p
        WHERE p.pronamespace = 'onrecord'::regnamespace AND p.proname LIKE 'forget\_in\_view\_%'
    LOOP
        EXECUTE format('SELECT onrecord.%I($1)', forgetter) USING of_conversation;
    END LOOP;
    -- What could not be folded says nothing any more, which can be.
    UPDATE onrecord.parked AS p SET retry_at = 0 WHERE p.conversation_id = of_conversation;
END $$;

-- Erase what a conversation says, for good: in the log, then in every view; return how many events
-- were erased. The erasure lock comes before the shard's, so that no writer of the shard waits while
-- workers finish what they have read.
ALTER FUNCTION onrecord.forget(uuid) RENAME TO forget_in_log;
-- By itself it would leave the views' rows: only who owns the log can, and does by the function below.
ALTER FUNCTION onrecord.forget_in_log(uuid) SECURITY INVOKER;
CREATE FUNCTION onrecord.forget(of_conversation uuid) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bound uuid := onrecord.bound_tenant();
    of_tenant uuid;
    erased bigint;
BEGIN
    SELECT known.tenant INTO of_tenant FROM (
        SELECT h.tenant FROM onrecord.conversation_head AS h
        WHERE h.conversation_id = of_conversation AND h.tenant = coalesce(bound, h.tenant)
        UNION ALL
        SELECT k.tenant FROM onrecord.conversation_key AS k
        WHERE k.conversation_id = of_conversation AND k.tenant = coalesce(bound, k.tenant)
        UNION ALL
        SELECT b.tenant FROM onrecord.blob AS b
        WHERE b.conversation_id = of_conversation AND b.tenant = coalesce(bound, b.tenant)
    ) AS known LIMIT 1;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(1212239443, -2);
    erased := onrecord.forget_in_log(of_conversation);
    PERFORM onrecord.forget_in_views(of_conversation, of_tenant);
    RETURN erased;
END $$;

---------------------------------------------------------------------------------------------------
-- Roles
---------------------------------------------------------------------------------------------------

ALTER TABLE onrecord.parked ENABLE ROW LEVEL SECURITY;
ALTER TABLE onrecord.erasure ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON onrecord.parked
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
CREATE POLICY own ON onrecord.erasure
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));

-- The roles that were admitted: who may read events and does not own them.
CREATE FUNCTION onrecord.admitted() RETURNS SETOF name
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT DISTINCT g.grantee::name FROM information_schema.role_table_grants AS g
    WHERE g.table_schema = 'onrecord' AND g.table_name = 'event'
        AND g.privilege_type = 'SELECT' AND g.grantee <> current_user AND g.grantee <> 'PUBLIC';
END;

-- Let every role that was admitted before read what a migration adds; each one ends with it.
CREATE FUNCTION onrecord.renew_admissions() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    admitted name;
BEGIN
    FOR admitted IN SELECT onrecord.admitted() LOOP
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA onrecord TO %I', admitted);
        EXECUTE format('GRANT EXECUTE ON FUNCTION onrecord.forget(uuid) TO %I', admitted);
        EXECUTE format('GRANT EXECUTE ON FUNCTION onrecord.erasures() TO %I', admitted);
    END LOOP;
END $$;

-- Let a role keep views up to date too: that of workers, and of who pauses, retries and rebuilds.
CREATE FUNCTION onrecord.admit_worker(newcomer name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kept name;
BEGIN
    PERFORM onrecord.admit(newcomer, NULL);
    FOR kept IN
        SELECT t.table_name FROM information_schema.tables AS t
        WHERE t.table_schema = 'onrecord' AND (
            t.table_name IN ('view', 'generation', 'part', 'checkpoint', 'worker', 'parked')
            OR t.table_name LIKE 'view\_%')
    LOOP
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON onrecord.%I TO %I', kept, newcomer);
    END LOOP;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA onrecord FROM PUBLIC;
SELECT onrecord.renew_admissions();
