-- Writing: onrecord.append and what it needs. 001_log.sql says how the parts belong together.

-- The shard of a tenant, given to it now if it is new. Refuses tenants that are not the caller's.
CREATE FUNCTION onrecord.shard_of(of_tenant uuid) RETURNS smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_shard smallint;
BEGIN
    SELECT t.shard INTO found_shard FROM onrecord.tenant AS t
    WHERE t.tenant = of_tenant
        AND NOT EXISTS (
            SELECT FROM onrecord.caller AS c WHERE c.role = session_user AND c.tenant <> of_tenant
        );
    IF found_shard IS NOT NULL THEN
        RETURN found_shard;
    END IF;
    IF EXISTS (
        SELECT FROM onrecord.caller AS c WHERE c.role = session_user AND c.tenant <> of_tenant
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this role is bound to another tenant';
    END IF;
    INSERT INTO onrecord.tenant (tenant, shard)
    SELECT of_tenant, abs(hashtextextended(of_tenant::text, 0) % m.shards) FROM onrecord.meta AS m
    ON CONFLICT (tenant) DO NOTHING;
    SELECT t.shard INTO found_shard FROM onrecord.tenant AS t WHERE t.tenant = of_tenant;
    RETURN found_shard;
END $$;

-- An event as its writer hands it in. `effect` is bits: 1 prompts, 2 gives up, 4 closes, 8 opens a
-- call, 16 closes a call (`call` names it), 32 instructions, 64 tools, 128 request,
-- 256 adopted, 512 amended.
CREATE TYPE onrecord.new_event AS (
    event_id uuid,
    type text,
    schema_version integer,
    header bytea,
    salt bytea,
    body bytea,
    once bytea,
    effect integer,
    call bytea,
    input_tokens bigint,
    output_tokens bigint
);

-- What a writer asks for: events for one conversation, all or none. `expected` is the version at
-- which it believes the conversation is, or null; -1 lets a conversation that has not begun begin at
-- version 0. `blobs` are the digests of those that the events refer to.
CREATE TYPE onrecord.request AS (
    tenant uuid,
    conversation_id uuid,
    expected bigint,
    events onrecord.new_event[],
    blobs bytea[]
);

-- Requests of a batch that are recorded together, by their places in it: of one shard, one behind the
-- other, each about a conversation of its own.
CREATE TYPE onrecord.cohort AS (shard smallint, places integer[]);

-- Share a batch out to cohorts. They come in the order of their shards, and in each as the requests do:
-- two callers that take locks by them never wait for each other.
CREATE FUNCTION onrecord.cohorts(requests onrecord.request[]) RETURNS onrecord.cohort[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    tenants uuid[];
    shards smallint[];
    repeated boolean;
    asked record;
    at_shard smallint;
    places integer[] := '{}';   -- of the cohort that has begun
    cohorts onrecord.cohort[] := '{}';
BEGIN
    -- New tenants get their rows in this order.
    SELECT array_agg(t.tenant), array_agg(onrecord.shard_of(t.tenant)) INTO tenants, shards
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
            cohorts := cohorts || ROW(at_shard, places)::onrecord.cohort;
            places := '{}';
        END IF;
        at_shard := asked.shard;
        places := places || asked.place;
    END LOOP;
    RETURN cohorts || ROW(at_shard, places)::onrecord.cohort;
END $$;

-- Whether events were recorded before: `duplicate` if all were, with the same content, `mismatch` if
-- an id or a once-name stands for other content or only some are known; null if they are new.
-- Content that was erased cannot be compared: the same id is enough then.
CREATE FUNCTION onrecord.repetition(
    of_shard smallint, asked onrecord.request,
    OUT verdict text, OUT first_version bigint, OUT last_version bigint
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    added onrecord.new_event;
    known record;
    ordinal integer := -1;
    count_known integer := 0;
    first_known integer;
BEGIN
    -- One look at a time: a join would be planned by how large the table was once.
    FOREACH added IN ARRAY asked.events LOOP
        ordinal := ordinal + 1;
        SELECT e.conversation_id, e.version, e.type, e.salt, e.digest INTO known
        FROM onrecord.event AS e
        WHERE e.shard = of_shard AND e.tenant = asked.tenant AND e.event_id = added.event_id
        UNION ALL
        SELECT e.conversation_id, e.version, e.type, e.salt, e.digest FROM onrecord.event AS e
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

-- Record what can be recorded; a row for each request, with its place among them. What it says:
--   recorded   first and last version, position of the last event
--   duplicate  first and last version that the events have
--   forgotten  the conversation was, and takes nothing any more
--   conflict   first: the version at which the conversation is
--   mismatch   first: the ordinal (from 0) of the event that stands for other content
-- A shard's writers wait for each other, and every statement costs them time. So what needs no order
-- comes before the lock, and a cohort is looked up, inserted and moved on as a whole. Each lookup is of
-- one row, by LIMIT: a join would be planned by how large the tables were once.
CREATE FUNCTION onrecord.append(requests onrecord.request[]) RETURNS TABLE (
    place integer, verdict text, first_version bigint, last_version bigint, last_position bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    asked onrecord.request;
    added onrecord.new_event;
    at_shard smallint;
    cohorts onrecord.cohort[] := '{}';
    cohort onrecord.cohort;
    tail record;
    known boolean[];            -- whether the first event of a request was recorded before
    head onrecord.conversation_head;
    heads_before onrecord.conversation_head[];
    heads onrecord.conversation_head[];
    facts onrecord.event[];
    blob_digest bytea;
    since integer;
    opens boolean;
    -- The largest sum that every reader of JSON has exactly: domain/head.py, MOST_TOKENS.
    most_tokens CONSTANT bigint := 9007199254740991;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE feature_not_supported
            USING MESSAGE = 'onrecord.append runs in READ COMMITTED transactions only';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF cardinality(requests) > 1 THEN
        cohorts := onrecord.cohorts(requests);
    ELSIF cardinality(requests) = 1 THEN
        -- As in shard_of, without a call where the tenant is known.
        SELECT t.shard INTO at_shard FROM onrecord.tenant AS t
        WHERE t.tenant = requests[1].tenant AND NOT EXISTS (
            SELECT FROM onrecord.caller AS c
            WHERE c.role = session_user AND c.tenant <> t.tenant
        );
        IF NOT FOUND THEN
            at_shard := onrecord.shard_of(requests[1].tenant);
        END IF;
        cohorts := ARRAY[ROW(at_shard, '{1}')::onrecord.cohort];
    END IF;

    FOREACH cohort IN ARRAY cohorts LOOP
        PERFORM pg_advisory_xact_lock(1212239443, cohort.shard);
        SELECT t.position, greatest(t.recorded_at, onrecord.clock()) AS recorded_at INTO tail
        FROM (SELECT) AS one LEFT JOIN (
            SELECT e.position, e.recorded_at FROM onrecord.event AS e
            WHERE e.shard = cohort.shard ORDER BY e.position DESC LIMIT 1
        ) AS t ON true;
        tail.position := coalesce(tail.position, 0);
        facts := '{}';
        heads := '{}';

        -- Not a loop over rows: its cursor would copy the requests, once a cohort.
        SELECT array_agg((
                SELECT h FROM onrecord.conversation_head AS h
                WHERE h.shard = cohort.shard
                    AND h.conversation_id = requests[p.place].conversation_id
                LIMIT 1
            )), array_agg((
                SELECT true FROM onrecord.event AS e
                WHERE e.shard = cohort.shard AND e.tenant = requests[p.place].tenant
                    AND e.event_id = requests[p.place].events[1].event_id
                LIMIT 1
            ) IS NOT NULL OR (
                SELECT true FROM onrecord.event AS e
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
            last_version := NULL;
            last_position := NULL;
            IF head.tenant IS NULL THEN
                SELECT h.tenant INTO head.tenant FROM onrecord.conversation_head AS h
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
                FROM onrecord.repetition(cohort.shard, asked) AS r;
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

            first_version := head.version + 1;
            FOREACH added IN ARRAY asked.events LOOP
                tail.position := tail.position + 1;
                head.version := head.version + 1;
                opens := added.effect & 1 <> 0 AND cardinality(head.open_calls) = 0;
                IF opens THEN
                    head.exchange := head.exchange + 1;
                END IF;
                IF added.effect > 1 THEN
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
                )::onrecord.event;
            END LOOP;
            head.position := tail.position;
            head.recorded_at := tail.recorded_at;
            heads := heads || head;
            -- One by one, and not NOT: else PostgreSQL may look at all blobs of the conversation,
            -- or at all that nothing refers to, for their index promises fewer.
            FOREACH blob_digest IN ARRAY asked.blobs LOOP
                UPDATE onrecord.blob AS b SET referenced = true
                WHERE b.shard = cohort.shard AND b.conversation_id = asked.conversation_id
                    AND b.digest = blob_digest AND b.referenced IS NOT TRUE;
            END LOOP;
            verdict := 'recorded';
            last_version := head.version;
            last_position := tail.position;
            RETURN NEXT;
        END LOOP;

        INSERT INTO onrecord.event
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
        INSERT INTO onrecord.conversation_head SELECT * FROM unnest(heads)
        ON CONFLICT (shard, conversation_id) DO UPDATE SET
            version = excluded.version, exchange = excluded.exchange, closed = excluded.closed,
            instructions = excluded.instructions, tools = excluded.tools,
            request = excluded.request, adopted = excluded.adopted, amended = excluded.amended,
            input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
            open_calls = excluded.open_calls, open_since = excluded.open_since,
            position = excluded.position, recorded_at = excluded.recorded_at;
    END LOOP;
END $$;
