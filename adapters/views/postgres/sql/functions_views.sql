-- Views: what erasing does to them, and how they are searched.

-- How often {log}.forget was called to effect; callers that see one tenant only see this too.
CREATE OR REPLACE FUNCTION {log}.erasures() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(max(e.number), 0) FROM {log}.erasure AS e
$$;

-- Whether pages of the tables' files hold what was erased, for they were not written anew since.
CREATE OR REPLACE FUNCTION {log}.has_residue() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT {log}.erasures() > m.written_anew FROM {log}.meta AS m
$$;

-- Take what is erased out of the views, and note the erasure. Called in {log}.forget alone. Each view
-- brings its function {log}.forget_in_view_<name>(conversation).
CREATE OR REPLACE FUNCTION {log}.forget_in_views(of_conversation uuid, of_tenant uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    forgetter name;
BEGIN
    INSERT INTO {log}.erasure (number, conversation_id, tenant, erased_at)
    SELECT coalesce(max(e.number), 0) + 1, of_conversation, of_tenant, {log}.clock()
    FROM {log}.erasure AS e;
    FOR forgetter IN
        SELECT p.proname FROM pg_proc AS p
        WHERE p.pronamespace = '{log}'::regnamespace AND p.proname LIKE 'forget\_in\_view\_%'
    LOOP
        EXECUTE format('SELECT {log}.%I($1)', forgetter) USING of_conversation;
    END LOOP;
    -- What could not be folded says nothing any more, which can be.
    UPDATE {log}.parked AS p SET retry_at = 0 WHERE p.conversation_id = of_conversation;
END $$;

-- Let no erasure begin before the caller's transaction ends; one that is under way is waited for. A
-- function, for whoever could lock the table by a right of its own could lock it against everybody.
CREATE OR REPLACE FUNCTION {log}.hold_off_erasures() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    LOCK TABLE {log}.erasure IN ROW SHARE MODE;
END $$;

-- Where a conversation is, and whose: where its head is, else where somebody has a key for its id, or a blob; where
-- the name of an actor is that has the id.
-- Another tenant may have these for an id that is not its own. Nulls where nothing is known of it; a bound
-- role knows of its own tenant only.
CREATE OR REPLACE FUNCTION {log}.place_of(
    of_conversation uuid, OUT at_shard smallint, OUT of_tenant uuid
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    bound uuid := {log}.bound_tenant();
BEGIN
    SELECT known.shard, known.tenant INTO at_shard, of_tenant FROM (
        SELECT 1 AS rank, h.shard, h.tenant FROM {log}.conversation_head AS h
        WHERE h.conversation_id = of_conversation AND h.tenant = coalesce(bound, h.tenant)
        UNION ALL
        SELECT 2, k.shard, k.tenant FROM {log}.conversation_key AS k
        WHERE k.conversation_id = of_conversation AND k.tenant = coalesce(bound, k.tenant)
        UNION ALL
        SELECT 3, b.shard, b.tenant FROM {log}.blob AS b
        WHERE b.conversation_id = of_conversation AND b.tenant = coalesce(bound, b.tenant)
        UNION ALL
        SELECT 4, t.shard, a.tenant FROM {log}.actor_name AS a JOIN {log}.tenant AS t USING (tenant)
        WHERE a.actor_id = of_conversation AND a.tenant = coalesce(bound, a.tenant)
    ) AS known ORDER BY known.rank LIMIT 1;
END $$;

-- Hold what an erasure changes and a role may hold too, until its transaction ends: the shard, as who
-- appends does; the head, as who stores documents does; blobs, which who stores them before the conversation
-- begins holds alone. The shard of it; null where nothing is known of the conversation. An append takes
-- them in this order, who stores documents the last two, and a sweep takes blobs alone and waits for none.
CREATE OR REPLACE FUNCTION {log}.hold_conversation(of_conversation uuid) RETURNS smallint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    bound uuid := {log}.bound_tenant();
    at_shard smallint;
BEGIN
    SELECT p.at_shard INTO at_shard FROM {log}.place_of(of_conversation) AS p;
    IF at_shard IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM FROM {log}.shard_lock AS l WHERE l.shard = at_shard FOR NO KEY UPDATE;
    PERFORM FROM {log}.conversation_head AS h
    WHERE h.shard = at_shard AND h.conversation_id = of_conversation
        AND h.tenant = coalesce(bound, h.tenant)
    FOR UPDATE;
    PERFORM FROM {log}.blob AS b
    WHERE b.conversation_id = of_conversation AND b.tenant = coalesce(bound, b.tenant)
    ORDER BY b.blob_id FOR UPDATE;
    RETURN at_shard;
END $$;

-- The same for who is waited for: whether it was held, after a wait of a second at most for each. Appends
-- hold a shard for milliseconds, one after the other. Who did not get all holds nothing of it.
CREATE OR REPLACE FUNCTION {log}.hold_conversation_soon(of_conversation uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
BEGIN
    PERFORM {log}.hold_conversation(of_conversation);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Erase what a conversation says, for good: in the log, then in every view; return how many events
-- were erased. Erasures come one at a time, and each waits until workers have finished what they read.
--
-- All tenants wait for the lock of that, so nobody waits for a role of one tenant while holding it: that role
-- may leave its transaction open. And a shard's writers do not wait for workers. So an erasure first waits
-- until nobody holds the conversation, and lets go; then it takes the lock of all, and the conversation where
-- it has it soon, else it begins anew. Where it waits for the lock of all it holds nothing, and a batch of a
-- worker holds that lock alone and reads without locks; so neither waits for the other in a circle. Under the
-- lock of all it waits for writers, of whom none waits for that lock.
CREATE OR REPLACE FUNCTION {log}.forget(of_conversation uuid) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bound uuid := {log}.bound_tenant();
    of_tenant uuid;
    erased bigint;
BEGIN
    SELECT p.of_tenant INTO of_tenant FROM {log}.place_of(of_conversation) AS p;
    -- What views have of a conversation is whose that is: a key that a bound role opened for its id before
    -- it began is no reason to take it out.
    IF of_tenant IS NULL OR bound IS NOT NULL AND EXISTS (
        SELECT FROM {log}.conversation_head AS h
        WHERE h.conversation_id = of_conversation AND h.tenant <> bound
    ) THEN
        RETURN 0;
    END IF;
    IF EXISTS (
        SELECT FROM {log}.tenant AS t WHERE t.tenant = of_tenant AND t.operators_of IS NOT NULL
    ) THEN
        RAISE SQLSTATE 'ZH003' USING MESSAGE = 'what operators did is kept';
    END IF;
    LOOP
        -- An error undoes the block that it is raised in, which alone lets go of locks.
        BEGIN
            PERFORM {log}.hold_conversation(of_conversation);
            RAISE SQLSTATE 'ZH006';
        EXCEPTION WHEN SQLSTATE 'ZH006' THEN
            NULL;
        END;
        BEGIN
            LOCK TABLE {log}.erasure IN EXCLUSIVE MODE;
            EXIT WHEN {log}.hold_conversation_soon(of_conversation);
            RAISE SQLSTATE 'ZH006';
        EXCEPTION WHEN SQLSTATE 'ZH006' THEN
            NULL;
        END;
    END LOOP;
    erased := {log}.forget_in_log(of_conversation);
    PERFORM {log}.forget_in_views(of_conversation, of_tenant);
    RETURN erased;
END $$;

-- Of a conversation that was erased, that something was done stays.
CREATE OR REPLACE FUNCTION {log}.forget_in_view_audit(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    UPDATE {log}.view_audit AS v SET api = NULL, model = NULL, tool = NULL, sha256 = NULL,
        outcome = NULL, documents = NULL, event_id = NULL, labels = NULL
    WHERE v.conversation_id = of_conversation;
$$;

CREATE OR REPLACE FUNCTION {log}.forget_in_view_conversations(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM {log}.view_conversations AS v WHERE v.conversation_id = of_conversation;
$$;

-- Sums say nothing of what was said.
CREATE OR REPLACE FUNCTION {log}.forget_in_view_usage(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM {log}.view_usage AS v WHERE v.conversation_id = of_conversation;
$$;

-- All rows of it that projections of programs keep here, whatever made them.
CREATE OR REPLACE FUNCTION {log}.forget_in_view_own(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM {log}.view_own AS v WHERE v.conversation_id = of_conversation;
$$;

CREATE OR REPLACE FUNCTION {log}.forget_in_view_search(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    -- Generations are few and come first in the key: each is found by one look into it.
    WITH RECURSIVE g (number) AS (
        SELECT min(v.generation) FROM {log}.view_search AS v
        UNION ALL
        SELECT (SELECT min(v.generation) FROM {log}.view_search AS v
            WHERE v.generation > g.number)
        FROM g WHERE g.number IS NOT NULL
    )
    DELETE FROM {log}.view_search AS v USING g
    WHERE v.generation = g.number AND v.conversation_id = of_conversation;
$$;

-- The rows of a page, with its parameters (queries_search.sql). It runs as the owner and looks itself
-- whose rows it may show: where row security does that, `@@` is not taken to an index, since it might
-- tell of what it sees. Planned anew each time, for what is looked for says which index is quicker.
--
-- No statistics say how frequent a word is (functions_statistics.sql). So the last thousand rows are
-- looked through first, which is enough for a frequent word, and what is older is found by the index of
-- words. OFFSET 0 keeps the planner from going through all rows in the order of a page.
CREATE OR REPLACE FUNCTION {log}.search_rows(
    of_generation integer, of_tenant uuid, filters jsonb, behind jsonb, most bigint
) RETURNS SETOF {log}.view_search
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off AS $$
DECLARE
    wanted tsquery := (filters ->> 'words')::tsquery;
    in_conversation uuid := (filters ->> 'conversation_id')::uuid;
    before bigint := coalesce((behind ->> 'position')::bigint, 9223372036854775807);
    edge bigint;
    given bigint;
BEGIN
    IF of_tenant <> coalesce({log}.bound_tenant(), of_tenant) THEN
        RETURN;
    END IF;
    SELECT v.position INTO edge FROM {log}.view_search AS v
    WHERE v.generation = of_generation AND v.tenant = of_tenant AND v.position < before
    ORDER BY v.position DESC OFFSET 1000 LIMIT 1;
    RETURN QUERY SELECT v.* FROM (
        SELECT n.* FROM {log}.view_search AS n
        WHERE n.generation = of_generation AND n.tenant = of_tenant
            AND n.position < before AND n.position > coalesce(edge, 0)
        ORDER BY n.position DESC OFFSET 0
    ) AS v
    WHERE v.lexemes @@ wanted
        AND (in_conversation IS NULL OR v.conversation_id = in_conversation)
        AND (filters ->> 'role' IS NULL OR v.role = filters ->> 'role')
        AND (filters ->> 'tool' IS NULL OR v.tool = filters ->> 'tool')
        AND v.recorded_at >= coalesce((filters ->> 'since')::bigint, 0)
        AND v.recorded_at < coalesce((filters ->> 'until')::bigint, 9223372036854775807)
        AND NOT EXISTS (SELECT FROM jsonb_array_elements_text(filters -> 'phrases') AS phrase
            WHERE position(' ' || phrase || ' ' IN ' ' || v.words || ' ') = 0)
        AND NOT EXISTS (
            SELECT FROM jsonb_array_elements_text(filters -> 'unwanted_phrases') AS phrase
            WHERE position(' ' || phrase || ' ' IN ' ' || v.words || ' ') > 0)
    ORDER BY v.position DESC LIMIT most;
    GET DIAGNOSTICS given = ROW_COUNT;
    IF edge IS NULL OR given >= most THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT v.* FROM (
        SELECT o.* FROM {log}.view_search AS o
        WHERE o.generation = of_generation AND o.tenant = of_tenant AND o.position <= edge
            AND o.lexemes @@ wanted
            AND (in_conversation IS NULL OR o.conversation_id = in_conversation)
            AND (filters ->> 'role' IS NULL OR o.role = filters ->> 'role')
            AND (filters ->> 'tool' IS NULL OR o.tool = filters ->> 'tool')
            AND o.recorded_at >= coalesce((filters ->> 'since')::bigint, 0)
            AND o.recorded_at < coalesce((filters ->> 'until')::bigint, 9223372036854775807)
            AND NOT EXISTS (SELECT FROM jsonb_array_elements_text(filters -> 'phrases') AS phrase
                WHERE position(' ' || phrase || ' ' IN ' ' || o.words || ' ') = 0)
            AND NOT EXISTS (
                SELECT FROM jsonb_array_elements_text(filters -> 'unwanted_phrases') AS phrase
                WHERE position(' ' || phrase || ' ' IN ' ' || o.words || ' ') > 0)
        OFFSET 0
    ) AS v ORDER BY v.position DESC LIMIT most - given;
END $$;

CREATE OR REPLACE FUNCTION {log}.forget_in_view_tool_ledger(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    -- Generations are few and come first in the key: each is found by one look into it.
    WITH RECURSIVE g (number) AS (
        SELECT min(v.generation) FROM {log}.view_tool_ledger AS v
        UNION ALL
        SELECT (SELECT min(v.generation) FROM {log}.view_tool_ledger AS v
            WHERE v.generation > g.number)
        FROM g WHERE g.number IS NOT NULL
    )
    DELETE FROM {log}.view_tool_ledger AS v USING g
    WHERE v.generation = g.number AND v.conversation_id = of_conversation;
$$;

CREATE OR REPLACE FUNCTION {log}.forget_in_view_window(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    -- Generations are few and come first in the key: each is found by one look into it.
    WITH RECURSIVE g (number) AS (
        SELECT min(v.generation) FROM {log}.view_window AS v
        UNION ALL
        SELECT (SELECT min(v.generation) FROM {log}.view_window AS v
            WHERE v.generation > g.number)
        FROM g WHERE g.number IS NOT NULL
    )
    DELETE FROM {log}.view_window AS v USING g
    WHERE v.generation = g.number AND v.conversation_id = of_conversation;
$$;
