-- Writing: {log}.append and what it needs. 001_log.sql says how the parts belong together.

-- The shard of a tenant, given to it now if it is new; the operators' stream of a tenant gets the
-- shard of that tenant. Refuses tenants that are not the caller's: an eraser writes for operators'
-- streams only, a runtime and a gateway for none of them, and nobody else but the owner for any tenant.
-- An issuer writes for operators' streams, and lets the log know a new tenant before its stream.
CREATE OR REPLACE FUNCTION {log}.shard_of(of_tenant uuid) RETURNS smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller CONSTANT name := session_user; -- not in a statement: Citus would look who runs it elsewhere
    owner CONSTANT name := current_user;
    known record;               -- as what the caller was let in
    found_shard smallint;
    among smallint;
    whose record;               -- the tenant whose operators' stream it is, if it is one
BEGIN
    SELECT t.shard INTO found_shard
    FROM {log}.tenant AS t LEFT JOIN {log}.caller AS c ON c.role = caller
    WHERE t.tenant = of_tenant AND CASE c.kind
        WHEN 'runtime' THEN t.operators_of IS NULL AND t.tenant = coalesce(c.tenant, t.tenant)
        WHEN 'gateway' THEN t.operators_of IS NULL AND t.tenant = coalesce(c.tenant, t.tenant)
        WHEN 'eraser' THEN t.operators_of = coalesce(c.tenant, t.operators_of)
        WHEN 'issuer' THEN t.operators_of = coalesce(c.tenant, t.operators_of)
        ELSE pg_has_role(caller, owner, 'MEMBER') END;
    IF found_shard IS NOT NULL THEN
        RETURN found_shard;
    END IF;
    SELECT t.tenant, t.shard INTO whose FROM {log}.tenant AS t WHERE t.operators = of_tenant;
    SELECT c.kind, c.tenant INTO known FROM {log}.caller AS c WHERE c.role = caller;
    IF NOT coalesce(CASE known.kind
        WHEN 'runtime' THEN NOT {log}.is_marked(of_tenant)
            AND of_tenant = coalesce(known.tenant, of_tenant)
        WHEN 'gateway' THEN NOT {log}.is_marked(of_tenant)
            AND of_tenant = coalesce(known.tenant, of_tenant)
        WHEN 'eraser' THEN whose.tenant = coalesce(known.tenant, whose.tenant)
        WHEN 'issuer' THEN coalesce(whose.tenant, of_tenant)
                = coalesce(known.tenant, whose.tenant, of_tenant)
            AND (whose.tenant IS NOT NULL OR NOT {log}.is_marked(of_tenant))
        ELSE pg_has_role(caller, owner, 'MEMBER') END, false)
    THEN
        RAISE insufficient_privilege USING MESSAGE = 'this role writes for another tenant';
    END IF;
    SELECT m.shards INTO among FROM {log}.meta AS m;
    INSERT INTO {log}.tenant (tenant, shard, operators, operators_of)
    VALUES (of_tenant, coalesce(whose.shard, abs(hashtextextended(of_tenant::text, 0) % among)),
        {log}.operators_of(of_tenant), whose.tenant)
    ON CONFLICT DO NOTHING; -- another session may be first, by either of the two keys
    SELECT t.shard INTO found_shard FROM {log}.tenant AS t WHERE t.tenant = of_tenant;
    RETURN found_shard;
END $$;

-- The shard of a tenant that somebody appends for: as {log}.shard_of has it, but that of an operators'
-- stream for all who may tell there what they read. What they may record, {log}.may_record says.
CREATE OR REPLACE FUNCTION {log}.shard_to_append(of_tenant uuid) RETURNS smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller CONSTANT name := session_user;
    known record;
    whose record;
BEGIN
    SELECT c.kind, c.tenant INTO known FROM {log}.caller AS c WHERE c.role = caller;
    SELECT t.tenant, t.shard INTO whose FROM {log}.tenant AS t WHERE t.operators = of_tenant;
    IF whose.tenant IS NULL OR whose.tenant <> coalesce(known.tenant, whose.tenant)
        OR coalesce(known.kind, '') NOT IN ('auditor', 'gateway', 'operator', 'runtime')
    THEN
        RETURN {log}.shard_of(of_tenant);
    END IF;
    INSERT INTO {log}.tenant (tenant, shard, operators, operators_of)
    VALUES (of_tenant, whose.shard, {log}.operators_of(of_tenant), whose.tenant)
    ON CONFLICT DO NOTHING;
    RETURN whose.shard;
END $$;

-- Share a batch out to cohorts. They come in the order of their shards, and in each as the requests do:
-- two callers that take locks by them never wait for each other.
CREATE OR REPLACE FUNCTION {log}.cohorts(requests {log}.request[]) RETURNS {log}.cohort[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    tenants uuid[];
    shards smallint[];
    repeated boolean;
    asked record;
    at_shard smallint;
    places integer[] := '{}';   -- of the cohort that has begun
    cohorts {log}.cohort[] := '{}';
BEGIN
    -- New tenants get their rows in this order.
    SELECT array_agg(t.tenant), array_agg({log}.shard_to_append(t.tenant)) INTO tenants, shards
    FROM (
        SELECT DISTINCT requests[i].tenant AS tenant
        FROM generate_series(1, cardinality(requests)) AS i ORDER BY tenant
    ) AS t;
    -- An id that two events have is to be found as one that was recorded before.
    SELECT count(*) > count(DISTINCT n.event_id) INTO repeated
    FROM (
        SELECT (unnest(requests[i].events)).event_id
        FROM generate_series(1, cardinality(requests)) AS i
    ) AS n;
    -- A conversation that was met before, at place `met_at`, is to be found as that left it: a cohort
    -- that holds the place is over.
    FOR asked IN
        SELECT o.shard, i AS place, lag(i) OVER (
            PARTITION BY o.shard, requests[i].conversation_id ORDER BY i
        ) AS met_at
        FROM generate_series(1, cardinality(requests)) AS i
        JOIN unnest(tenants, shards) AS o (tenant, shard) ON o.tenant = requests[i].tenant
        ORDER BY o.shard, place
    LOOP
        IF places <> '{}' AND (
            repeated OR asked.shard <> at_shard OR asked.met_at >= places[1]
        ) THEN
            cohorts := cohorts || ROW(at_shard, places)::{log}.cohort;
            places := '{}';
        END IF;
        at_shard := asked.shard;
        places := places || asked.place;
    END LOOP;
    RETURN cohorts || ROW(at_shard, places)::{log}.cohort;
END $$;

-- Whether events were recorded before: `duplicate` if all were, with the same content, `mismatch` if
-- an id or a once-name stands for other content or only some are known; null if they are new.
-- Content that was erased cannot be compared: the same id is enough then.
CREATE OR REPLACE FUNCTION {log}.repetition(
    of_shard smallint, asked {log}.request,
    OUT verdict text, OUT first_version bigint, OUT last_version bigint
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    added {log}.new_event;
    known record;
    ordinal integer := -1;
    count_known integer := 0;
    first_known integer;
BEGIN
    -- One look at a time: a join would be planned by how large the table was once.
    FOREACH added IN ARRAY asked.events LOOP
        ordinal := ordinal + 1;
        SELECT e.conversation_id, e.version, e.type, e.salt, e.digest INTO known
        FROM {log}.event AS e
        WHERE e.shard = of_shard AND e.tenant = asked.tenant AND e.event_id = added.event_id
        UNION ALL
        SELECT e.conversation_id, e.version, e.type, e.salt, e.digest FROM {log}.event AS e
        WHERE e.shard = of_shard AND e.conversation_id = asked.conversation_id
            AND e.once = added.once
        LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        IF known.conversation_id <> asked.conversation_id OR known.type <> added.type
            OR sha256(known.salt || added.body) <> known.digest
        THEN
            verdict := 'mismatch';
            first_version := ordinal;
            RETURN;
        END IF;
        count_known := count_known + 1;
        first_known := coalesce(first_known, ordinal);
        first_version := least(first_version, known.version);
        last_version := greatest(last_version, known.version);
    END LOOP;
    IF count_known = cardinality(asked.events) THEN
        verdict := 'duplicate';
        first_version := coalesce(first_version, 0);
        last_version := coalesce(last_version, 0);
    ELSIF count_known > 0 THEN
        verdict := 'mismatch';
        first_version := first_known;
    ELSIF (
        SELECT count(*) > count(DISTINCT n.event_id) OR count(n.once) > count(DISTINCT n.once)
        FROM unnest(asked.events) AS n
    ) THEN
        verdict := 'mismatch';
        SELECT min(n.ordinality) - 1 INTO first_version
        FROM unnest(asked.events) WITH ORDINALITY AS n
        WHERE EXISTS (
            SELECT FROM unnest(asked.events) WITH ORDINALITY AS before
            WHERE before.ordinality < n.ordinality
                AND (before.event_id = n.event_id OR before.once = n.once)
        );
    END IF;
END $$;

-- The id of the stream that tells what of a tenant was read on a day, counted from 1970-01-01.
CREATE OR REPLACE FUNCTION {log}.access_id(of_tenant uuid, of_day bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE
RETURN (
    SELECT encode('ONRA'::bytea || substring(
        set_byte(set_byte(d.digest, 6, get_byte(d.digest, 6) & 15 | 128),
            8, get_byte(d.digest, 8) & 63 | 128) FROM 5 FOR 12), 'hex')::uuid
    FROM (SELECT sha256('onrecord access'::bytea || uuid_send(of_tenant) || int8send(of_day)) AS digest) AS d
);

-- Whether a role may record that something was read: in the stream of its tenant and of its day, by a clock
-- that is off by a day at most, and nothing that does anything to the stream.
CREATE OR REPLACE FUNCTION {log}.may_tell_access(as_what text, asked {log}.request) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    added {log}.new_event;
    of_tenant uuid;
    told_at bigint;
BEGIN
    IF as_what NOT IN ('auditor', 'eraser', 'gateway', 'issuer', 'operator', 'runtime') THEN
        RETURN false;
    END IF;
    FOREACH added IN ARRAY asked.events LOOP
        IF added.type NOT IN ('access.read', 'access.counted') OR added.effect IS DISTINCT FROM 0
            OR added.once IS NOT NULL
        THEN
            RETURN false;
        END IF;
        of_tenant := (convert_from(added.body, 'UTF8')::json ->> 'tenant')::uuid;
        told_at := (convert_from(added.body, 'UTF8')::json ->> 'at')::bigint;
        IF {log}.operators_of(of_tenant) IS DISTINCT FROM asked.tenant
            OR abs(told_at - {log}.clock()) > 86400000000
            OR {log}.access_id(of_tenant, told_at / 86400000000) IS DISTINCT FROM asked.conversation_id
        THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
EXCEPTION WHEN data_exception THEN
    RETURN false;
END $$;

-- Whether a role that was let in as something may record what is asked for operators' streams. An eraser
-- tells of erasures, holds and retention, an issuer of keys that it makes or takes back, a gateway of keys
-- that were used, and all of them of what they read. A bound issuer makes no key for all tenants. What asks for nothing is nobody's to refuse.
CREATE OR REPLACE FUNCTION {log}.may_record(as_what text, asked {log}.request, is_new boolean)
RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF as_what IS NULL OR cardinality(asked.events) = 0 THEN
        RETURN true;
    END IF;
    IF {log}.is_access(asked.conversation_id) THEN
        RETURN {log}.may_tell_access(as_what, asked);
    END IF;
    IF as_what = 'eraser' THEN
        RETURN NOT {log}.is_key(asked.conversation_id) AND NOT EXISTS (
            SELECT FROM unnest(asked.events) AS e
            WHERE e.type NOT IN ('erasure.intended', 'erasure.completed', 'erasure.refused',
                'subject_key.destroyed', 'hold.placed', 'hold.lifted', 'retention.set', 'retention.cleared')
        );
    END IF;
    IF as_what = 'gateway' THEN
        -- 4096: it needs a stream that is not closed, and does nothing to it.
        RETURN {log}.is_key(asked.conversation_id) AND NOT is_new AND NOT EXISTS (
            SELECT FROM unnest(asked.events) AS e
            WHERE e.type <> 'key.used' OR e.effect IS DISTINCT FROM 4096 OR e.once IS NOT NULL
        );
    END IF;
    IF as_what = 'issuer' THEN
        RETURN {log}.is_key(asked.conversation_id) AND NOT EXISTS (
            SELECT FROM unnest(asked.events) AS e
            WHERE e.type NOT IN ('key.issued', 'key.revoked')
                OR {log}.bound_tenant() IS NOT NULL
                AND convert_from(e.body, 'UTF8')::jsonb -> 'all_tenants' IS NOT NULL
        );
    END IF;
    RETURN false;
END $$;

-- Which of the keys that a header names is destroyed, from 0; null for none. Operators say so, in the table
-- or in `beside`, the heads that the same cohort is about to write.
CREATE OR REPLACE FUNCTION {log}.destroyed_key(
    of_shard smallint, of_tenant uuid, header bytea, beside {log}.conversation_head[]
) RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.ordinal - 1
    FROM unnest(string_to_array(
        substring(encode(header, 'escape') FROM '"key":"([A-Za-z0-9_+-]+)"'), '+'
    )) WITH ORDINALITY AS k (id, ordinal)
    WHERE EXISTS (
        SELECT FROM {log}.conversation_head AS h
        WHERE h.shard = of_shard AND h.tenant = {log}.operators_of(of_tenant)
            AND h.conversation_id = {log}.destroyed_key_id(of_tenant, k.id)
    ) OR EXISTS (
        SELECT FROM unnest(beside) AS h
        WHERE h.tenant = {log}.operators_of(of_tenant)
            AND h.conversation_id = {log}.destroyed_key_id(of_tenant, k.id)
    )
    ORDER BY k.ordinal LIMIT 1
$$;

-- Raise, for what is one tenant's another one has begun. Their ids are there so that Citus asks at the row
-- in question; a count of rows that were not moved on would be wrong there.
CREATE OR REPLACE FUNCTION {log}.refuse_tenants(known uuid, newcomer uuid) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RAISE SQLSTATE 'ZH001' USING MESSAGE = 'the conversation is another tenant''s';
END $$;

-- Whether a header is of a body that is JSON in clear, as domain/encryption/bodies.py has it.
CREATE OR REPLACE FUNCTION {log}.is_clear(header bytea) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN substring(header FROM position('"codec":"'::bytea IN header) FOR 15) = '"codec":"json",'::bytea;

-- Whether a header is of a body that is encrypted.
CREATE OR REPLACE FUNCTION {log}.is_under_keys(header bytea) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN substring(header FROM position('"codec":"'::bytea IN header) FOR 26)
    = '"codec":"json+aes-256-gcm"'::bytea;

-- Record what can be recorded; a row for each request, with its place among them. What it says:
--   recorded   first and last version, position of the last event
--   duplicate  first and last version that the events have
--   forgotten  the conversation was, and takes nothing any more
--   conflict   first: the version at which the conversation is
--   mismatch   first: the ordinal (from 0) of the event that stands for other content
--   missing    first: the ordinal (from 0) of the blob that is not stored
--   refused    first: the ordinal (from 0) of the event whose need is not met
--   destroyed  first: the ordinal (from 0) of the key that is, of those that the first event is under
-- A shard's writers wait for each other, and every statement costs them time. So what needs no order
-- comes before the lock, and a cohort is looked up, inserted and moved on as a whole. Each lookup is of
-- one row, by LIMIT: a join would be planned by how large the tables were once.
CREATE OR REPLACE FUNCTION {log}.append(requests {log}.request[]) RETURNS TABLE (
    place integer, verdict text, first_version bigint, last_version bigint, last_position bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    caller CONSTANT name := session_user;
    owner CONSTANT name := current_user;
    asked {log}.request;
    added {log}.new_event;
    at_shard smallint;
    cohorts {log}.cohort[] := '{}';
    cohort {log}.cohort;
    tail record;
    known boolean[];            -- whether the first event of a request was recorded before
    head {log}.conversation_head;
    heads_before {log}.conversation_head[];
    heads {log}.conversation_head[];
    facts {log}.event[];
    blob_digest bytea;
    is_kept boolean;
    as_what text;               -- the caller was let in
    is_operators boolean;       -- it is for an operators' stream
    is_new boolean;             -- the conversation has not begun
    is_encrypted boolean;       -- the log is
    destroyed bigint;           -- which key of a first event is, from 0
    before bigint;              -- the position behind which a request is recorded
    since integer;
    opens boolean;
    -- The largest sum that every reader of JSON has exactly: domain/head.py, MOST_TOKENS.
    most_tokens CONSTANT bigint := 9007199254740991;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE feature_not_supported
            USING MESSAGE = '{log}.append runs in READ COMMITTED transactions only';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF cardinality(requests) > 1 THEN
        cohorts := {log}.cohorts(requests);
        SELECT c.kind INTO as_what FROM {log}.caller AS c WHERE c.role = caller;
    ELSIF cardinality(requests) = 1 THEN
        -- As in shard_to_append, without a call where the tenant is known. Who reads writes for operators'
        -- streams too, by no other verb.
        SELECT t.shard, c.kind INTO at_shard, as_what
        FROM {log}.tenant AS t LEFT JOIN {log}.caller AS c ON c.role = caller
        WHERE t.tenant = requests[1].tenant AND CASE c.kind
            WHEN 'runtime' THEN
                coalesce(c.tenant, t.operators_of, t.tenant) IN (t.operators_of, t.tenant)
            WHEN 'gateway' THEN
                coalesce(c.tenant, t.operators_of, t.tenant) IN (t.operators_of, t.tenant)
            WHEN 'auditor' THEN t.operators_of = coalesce(c.tenant, t.operators_of)
            WHEN 'eraser' THEN t.operators_of = coalesce(c.tenant, t.operators_of)
            WHEN 'issuer' THEN t.operators_of = coalesce(c.tenant, t.operators_of)
            WHEN 'operator' THEN t.operators_of = coalesce(c.tenant, t.operators_of)
            ELSE pg_has_role(caller, owner, 'MEMBER') END;
        IF NOT FOUND THEN
            at_shard := {log}.shard_to_append(requests[1].tenant);
            SELECT c.kind INTO as_what FROM {log}.caller AS c WHERE c.role = caller;
        END IF;
        cohorts := ARRAY[ROW(at_shard, '{1}')::{log}.cohort];
    END IF;

    FOREACH cohort IN ARRAY cohorts LOOP
        -- Who waited for the row has it as it is by then.
        SELECT l.encrypted INTO is_encrypted FROM {log}.shard_lock AS l
        WHERE l.shard = cohort.shard FOR NO KEY UPDATE;
        IF NOT FOUND THEN
            RAISE data_corrupted USING MESSAGE = 'the row of shard_lock is gone';
        END IF;
        -- As domain/clock.py has it: times do not fall, unless the last one is over a day ahead.
        SELECT t.position, CASE WHEN t.recorded_at > c.now + 86400000000 THEN c.now
            ELSE greatest(t.recorded_at, c.now) END AS recorded_at INTO tail
        FROM (SELECT {log}.clock() AS now) AS c LEFT JOIN (
            SELECT e.position, e.recorded_at FROM {log}.event AS e
            WHERE e.shard = cohort.shard ORDER BY e.position DESC LIMIT 1
        ) AS t ON true;
        tail.position := coalesce(tail.position, 0);
        facts := '{}';
        heads := '{}';

        -- Not a loop over rows: its cursor would copy the requests, once a cohort.
        SELECT array_agg((
                SELECT h FROM {log}.conversation_head AS h
                WHERE h.shard = cohort.shard
                    AND h.conversation_id = requests[p.place].conversation_id
                LIMIT 1
            )), array_agg((
                SELECT true FROM {log}.event AS e
                WHERE e.shard = cohort.shard AND e.tenant = requests[p.place].tenant
                    AND e.event_id = requests[p.place].events[1].event_id
                LIMIT 1
            ) IS NOT NULL OR (
                SELECT true FROM {log}.event AS e
                WHERE e.shard = cohort.shard
                    AND e.conversation_id = requests[p.place].conversation_id
                    AND e.once = requests[p.place].events[1].once
                LIMIT 1
            ) IS NOT NULL)
        INTO heads_before, known
        FROM unnest(cohort.places) AS p (place);

        FOR n IN 1 .. cardinality(cohort.places) LOOP
            place := cohort.places[n];
            asked := requests[place];
            head := heads_before[n];
            is_new := head.conversation_id IS NULL;
            is_operators := {log}.is_marked(asked.conversation_id);
            IF is_operators <> {log}.is_marked(asked.tenant) THEN
                RAISE SQLSTATE 'ZH005' USING MESSAGE = 'the id is kept for operators';
            END IF;
            IF (is_operators OR as_what = 'issuer')
                AND NOT {log}.may_record(as_what, asked, is_new)
            THEN
                RAISE insufficient_privilege USING MESSAGE = 'this role may not record that';
            END IF;
            last_version := NULL;
            last_position := NULL;
            IF head.tenant IS NULL THEN
                SELECT h.tenant INTO head.tenant FROM {log}.conversation_head AS h
                WHERE h.conversation_id = asked.conversation_id AND h.tenant <> asked.tenant;
                IF NOT FOUND THEN
                    head := ROW(
                        asked.conversation_id, asked.tenant, cohort.shard, false,
                        CASE WHEN asked.expected = -1 THEN -1 ELSE 0 END, 0, 0, 0, 0, 0, 0, 0, 0,
                        0, tail.recorded_at, 0, '{}', '{}', false
                    );
                END IF;
            END IF;
            IF head.tenant <> asked.tenant THEN
                RAISE SQLSTATE 'ZH001' USING MESSAGE = 'the conversation is another tenant''s';
            END IF;

            IF known[n] OR cardinality(asked.events) <> 1 THEN
                SELECT r.* INTO verdict, first_version, last_version
                FROM {log}.repetition(cohort.shard, asked) AS r;
                IF verdict IS NOT NULL THEN
                    RETURN NEXT;
                    CONTINUE;
                END IF;
            END IF;
            IF head.forgotten THEN
                verdict := 'forgotten';
                first_version := NULL;
                RETURN NEXT;
                CONTINUE;
            END IF;
            IF asked.expected <> head.version THEN
                verdict := 'conflict';
                first_version := head.version;
                RETURN NEXT;
                CONTINUE;
            END IF;

            -- A blob that nothing refers to is locked, so that no sweep takes it before this commits.
            verdict := NULL;
            FOR ordinal IN 1 .. cardinality(asked.blobs) LOOP
                SELECT b.referenced INTO is_kept FROM {log}.blob AS b
                WHERE b.shard = cohort.shard AND b.conversation_id = asked.conversation_id
                    AND b.digest = asked.blobs[ordinal];
                CONTINUE WHEN is_kept;
                PERFORM FROM {log}.blob AS b
                WHERE b.shard = cohort.shard AND b.conversation_id = asked.conversation_id
                    AND b.digest = asked.blobs[ordinal]
                FOR NO KEY UPDATE;
                IF NOT FOUND THEN
                    verdict := 'missing';
                    first_version := ordinal - 1;
                    EXIT;
                END IF;
            END LOOP;
            IF verdict IS NOT NULL THEN
                RETURN NEXT;
                CONTINUE;
            END IF;

            first_version := head.version + 1;
            before := tail.position;
            FOREACH added IN ARRAY asked.events LOOP
                IF (added.type IN ('erasure.intended', 'erasure.completed', 'erasure.refused', 'subject_key.destroyed',
                    'key.issued', 'key.revoked', 'key.used', 'hold.placed', 'hold.lifted', 'retention.set',
                    'retention.cleared', 'access.read', 'access.counted', 'log.moved'))
                    <> is_operators
                THEN
                    RAISE SQLSTATE 'ZH005' USING MESSAGE = 'the event is kept for operators';
                END IF;
                IF is_encrypted AND NOT is_operators AND {log}.is_clear(added.header) THEN
                    RAISE SQLSTATE 'ZH006' USING MESSAGE = 'the log is encrypted';
                END IF;
                -- As domain/admission.py has it.
                IF added.effect >= 1024 AND (
                    added.effect & 1024 <> 0 AND NOT is_new
                    OR added.effect & 2048 <> 0 AND head.version > 1
                    OR added.effect & 4096 <> 0 AND head.closed
                ) THEN
                    verdict := 'refused';
                    first_version := tail.position - before;
                    EXIT;
                END IF;
                -- As domain/erasure/destroyed.py has it.
                IF is_new AND NOT is_operators AND position('"key":"'::bytea IN added.header) > 0 THEN
                    destroyed := {log}.destroyed_key(
                        cohort.shard, asked.tenant, added.header, heads);
                    IF destroyed IS NOT NULL THEN
                        verdict := 'destroyed';
                        first_version := destroyed;
                        EXIT;
                    END IF;
                END IF;
                is_new := false;
                tail.position := tail.position + 1;
                head.version := head.version + 1;
                opens := added.effect & 1 <> 0 AND cardinality(head.open_calls) = 0;
                IF opens THEN
                    head.exchange := head.exchange + 1;
                END IF;
                IF added.effect & 1022 <> 0 THEN
                    IF added.effect & 2 <> 0 THEN
                        head.open_calls := '{}';
                        head.open_since := '{}';
                    ELSIF added.effect & 24 <> 0 THEN
                        since := array_position(head.open_calls, added.call);
                        IF since IS NOT NULL THEN
                            head.open_calls :=
                                head.open_calls[:since - 1] || head.open_calls[since + 1:];
                            head.open_since :=
                                head.open_since[:since - 1] || head.open_since[since + 1:];
                        END IF;
                        IF added.effect & 8 <> 0 THEN
                            head.open_calls := head.open_calls || added.call;
                            head.open_since := head.open_since || head.version;
                        END IF;
                    END IF;
                    IF added.effect & 4 <> 0 THEN head.closed := true; END IF;
                    IF added.effect & 32 <> 0 THEN head.instructions := head.version; END IF;
                    IF added.effect & 64 <> 0 THEN head.tools := head.version; END IF;
                    IF added.effect & 128 <> 0 THEN head.request := head.version; END IF;
                    IF added.effect & 256 <> 0 THEN head.adopted := head.version; END IF;
                    IF added.effect & 512 <> 0 THEN head.amended := head.version; END IF;
                END IF;
                IF added.input_tokens > 0 OR added.output_tokens > 0 THEN
                    head.input_tokens := least(head.input_tokens + added.input_tokens, most_tokens);
                    head.output_tokens :=
                        least(head.output_tokens + added.output_tokens, most_tokens);
                END IF;
                facts := facts || ROW(
                    tail.position, head.version, head.exchange, tail.recorded_at,
                    asked.conversation_id, added.event_id, asked.tenant, added.schema_version,
                    cohort.shard, opens,
                    CASE added.effect & 992 WHEN 32 THEN 'instructions' WHEN 64 THEN 'tools'
                        WHEN 128 THEN 'request' WHEN 256 THEN 'adopted' WHEN 512 THEN 'amended' END,
                    added.type, added.once, added.header, NULL, NULL,
                    added.salt, added.body
                )::{log}.event;
            END LOOP;
            IF verdict IS NOT NULL THEN
                facts := facts[:cardinality(facts) - (tail.position - before)];
                tail.position := before;
                RETURN NEXT;
                CONTINUE;
            END IF;
            head.position := tail.position;
            head.recorded_at := tail.recorded_at;
            heads := heads || head;
            -- One by one, and not NOT: else PostgreSQL may look at all blobs of the conversation,
            -- or at all that nothing refers to, for their index promises fewer.
            FOREACH blob_digest IN ARRAY asked.blobs LOOP
                UPDATE {log}.blob AS b SET referenced = true
                WHERE b.shard = cohort.shard AND b.conversation_id = asked.conversation_id
                    AND b.digest = blob_digest AND b.referenced IS NOT TRUE;
            END LOOP;
            verdict := 'recorded';
            last_version := head.version;
            last_position := tail.position;
            RETURN NEXT;
        END LOOP;

        INSERT INTO {log}.event
        SELECT f.position, f.version, f.exchange, f.recorded_at, f.conversation_id, f.event_id,
            f.tenant, f.schema_version, f.shard, f.opens_exchange, f.pointer, f.type, f.once,
            f.header, b.digest,
            sha256('\x00'::bytea || f.header || int8send(f.version) || int8send(f.position)
                || int8send(f.recorded_at) || b.digest),
            f.salt, f.body
        -- By their places: unnest() writes what is larger than work_mem to a file first.
        FROM generate_series(1, cardinality(facts)) AS n
        CROSS JOIN LATERAL (SELECT (facts[n]).*) AS f
        -- OFFSET keeps it from being computed twice.
        CROSS JOIN LATERAL (SELECT sha256(f.salt || f.body) AS digest OFFSET 0) AS b;
        -- By the id, for the lock of a shard keeps nobody from beginning the same one in another shard.
        INSERT INTO {log}.conversation_head AS h SELECT * FROM unnest(heads)
        ON CONFLICT (conversation_id) DO UPDATE SET
            version = excluded.version, exchange = excluded.exchange, closed = excluded.closed,
            instructions = excluded.instructions, tools = excluded.tools,
            request = excluded.request, adopted = excluded.adopted, amended = excluded.amended,
            input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
            open_calls = excluded.open_calls, open_since = excluded.open_since,
            position = excluded.position, recorded_at = excluded.recorded_at
        WHERE h.tenant = excluded.tenant OR {log}.refuse_tenants(h.tenant, excluded.tenant);
    END LOOP;
END $$;
