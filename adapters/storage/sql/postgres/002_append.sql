-- Writing: hansard.append and what it needs. 001_log.sql says how the parts belong together.

-- The shard of a tenant, given to it now if it is new. Refuses tenants that are not the caller's.
CREATE FUNCTION hansard.shard_of(of_tenant uuid) RETURNS smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_shard smallint;
BEGIN
    SELECT t.shard INTO found_shard FROM hansard.tenant AS t
    WHERE t.tenant = of_tenant
        AND NOT EXISTS (
            SELECT FROM hansard.caller AS c WHERE c.role = session_user AND c.tenant <> of_tenant
        );
    IF found_shard IS NOT NULL THEN
        RETURN found_shard;
    END IF;
    IF EXISTS (
        SELECT FROM hansard.caller AS c WHERE c.role = session_user AND c.tenant <> of_tenant
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this role is bound to another tenant';
    END IF;
    INSERT INTO hansard.tenant (tenant, shard)
    SELECT of_tenant, abs(hashtextextended(of_tenant::text, 0) % m.shards) FROM hansard.meta AS m
    ON CONFLICT (tenant) DO NOTHING;
    SELECT t.shard INTO found_shard FROM hansard.tenant AS t WHERE t.tenant = of_tenant;
    RETURN found_shard;
END $$;

-- An event as its writer hands it in. `effect` is bits: 1 prompts, 2 gives up, 4 closes, 8 opens a
-- call, 16 closes a call (`call` names it), 32 instructions, 64 tools, 128 request,
-- 256 adopted, 512 amended.
CREATE TYPE hansard.new_event AS (
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
CREATE TYPE hansard.request AS (
    tenant uuid,
    conversation_id uuid,
    expected bigint,
    events hansard.new_event[],
    blobs bytea[]
);

-- Take the locks of a batch in order, so that two callers never wait for each other: those of new
-- tenants' rows first, then those of shards.
CREATE FUNCTION hansard.lock_shards(requests hansard.request[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1212239443, s.shard) FROM (
        SELECT DISTINCT hansard.shard_of(t.tenant) AS shard
        FROM (SELECT DISTINCT r.tenant FROM unnest(requests) AS r ORDER BY r.tenant) AS t
        ORDER BY shard
    ) AS s;
END $$;

-- Whether events were recorded before: `duplicate` if all were, with the same content, `mismatch` if
-- an id or a once-name stands for other content or only some are known; null if they are new.
-- Content that was erased cannot be compared: the same id is enough then.
CREATE FUNCTION hansard.repetition(
    of_shard smallint, asked hansard.request,
    OUT verdict text, OUT first_version bigint, OUT last_version bigint
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    added hansard.new_event;
    known record;
    ordinal integer := -1;
    count_known integer := 0;
    first_known integer;
BEGIN
    -- One look at a time: a join would be planned by how large the table was once.
    FOREACH added IN ARRAY asked.events LOOP
        ordinal := ordinal + 1;
        SELECT e.conversation_id, e.version, e.type, e.salt, e.digest INTO known
        FROM hansard.event AS e
        WHERE e.shard = of_shard AND e.tenant = asked.tenant AND e.event_id = added.event_id
        UNION ALL
        SELECT e.conversation_id, e.version, e.type, e.salt, e.digest FROM hansard.event AS e
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

-- Record what can be recorded; a row for each request, in order. What it says:
--   recorded   first and last version, position of the last event
--   duplicate  first and last version that the events have
--   forgotten  the conversation was, and takes nothing any more
--   conflict   first: the version at which the conversation is
--   mismatch   first: the ordinal (from 0) of the event that stands for other content
-- A shard's writers wait for each other, and every expression costs them time: so there are few, and
-- what needs no order comes before the lock.
CREATE FUNCTION hansard.append(requests hansard.request[])
RETURNS TABLE (verdict text, first_version bigint, last_version bigint, last_position bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    asked hansard.request;
    added hansard.new_event;
    digests bytea[];
    locked_tenant uuid;
    at_shard smallint;
    last record;                -- how far the shard and the conversation are
    begun boolean;
    opens boolean;
    since integer;
    ordinal integer;
    new_input_tokens bigint;
    new_output_tokens bigint;
    -- The largest sum that every reader of JSON has exactly: domain/head.py, MOST_TOKENS.
    most_tokens CONSTANT bigint := 9007199254740991;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE feature_not_supported
            USING MESSAGE = 'hansard.append runs in READ COMMITTED transactions only';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF cardinality(requests) > 1 THEN
        PERFORM hansard.lock_shards(requests);
    END IF;

    FOREACH asked IN ARRAY requests LOOP
        digests := '{}';
        FOREACH added IN ARRAY asked.events LOOP
            digests := digests || sha256(added.salt || added.body);
        END LOOP;
        IF asked.tenant IS DISTINCT FROM locked_tenant THEN
            SELECT t.shard INTO at_shard FROM hansard.tenant AS t
            WHERE t.tenant = asked.tenant AND NOT EXISTS (
                SELECT FROM hansard.caller AS c
                WHERE c.role = session_user AND c.tenant <> t.tenant
            );
            IF NOT FOUND THEN
                at_shard := hansard.shard_of(asked.tenant);
            END IF;
            PERFORM pg_advisory_xact_lock(1212239443, at_shard);
            locked_tenant := asked.tenant;
        END IF;

        -- One statement, each of its parts an index lookup; `known` is about the last event.
        SELECT tail.position, greatest(tail.recorded_at, hansard.clock()) AS recorded_at,
            h.tenant, h.version, h.exchange, h.open_calls, h.open_since, h.closed,
            h.instructions, h.tools, h.request, h.adopted, h.amended, h.forgotten,
            EXISTS (
                SELECT FROM hansard.event AS e
                WHERE e.shard = at_shard AND e.tenant = asked.tenant
                    AND e.event_id = added.event_id
            ) OR EXISTS (
                SELECT FROM hansard.event AS e
                WHERE e.shard = at_shard AND e.conversation_id = asked.conversation_id
                    AND e.once = added.once
            ) AS known
        INTO last
        FROM (SELECT) AS one
        LEFT JOIN (
            SELECT e.position, e.recorded_at FROM hansard.event AS e
            WHERE e.shard = at_shard ORDER BY e.position DESC LIMIT 1
        ) AS tail ON true
        LEFT JOIN hansard.conversation_head AS h
            ON h.shard = at_shard AND h.conversation_id = asked.conversation_id;

        begun := last.tenant IS NOT NULL;
        IF NOT begun THEN
            SELECT h.tenant INTO last.tenant FROM hansard.conversation_head AS h
            WHERE h.conversation_id = asked.conversation_id AND h.tenant <> asked.tenant;
            last.position := coalesce(last.position, 0);
            last.version := CASE WHEN asked.expected = -1 THEN -1 ELSE 0 END;
            last.exchange := 0;
            last.open_calls := '{}';
            last.open_since := '{}';
            last.closed := false;
            last.instructions := 0;
            last.tools := 0;
            last.request := 0;
            last.adopted := 0;
            last.amended := 0;
        END IF;
        IF last.tenant <> asked.tenant THEN
            RAISE SQLSTATE 'ZH001' USING MESSAGE = 'the conversation is another tenant''s';
        END IF;

        IF last.known OR cardinality(digests) <> 1 THEN
            SELECT r.* INTO verdict, first_version, last_version
            FROM hansard.repetition(at_shard, asked) AS r;
            IF verdict IS NOT NULL THEN
                last_position := NULL;
                RETURN NEXT;
                CONTINUE;
            END IF;
        END IF;

        IF last.forgotten THEN
            verdict := 'forgotten';
            first_version := NULL;
            last_version := NULL;
            last_position := NULL;
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF asked.expected <> last.version THEN
            verdict := 'conflict';
            first_version := last.version;
            last_version := NULL;
            last_position := NULL;
            RETURN NEXT;
            CONTINUE;
        END IF;

        first_version := last.version + 1;
        ordinal := 0;
        new_input_tokens := 0;
        new_output_tokens := 0;
        FOREACH added IN ARRAY asked.events LOOP
            ordinal := ordinal + 1;
            last.position := last.position + 1;
            last.version := last.version + 1;
            opens := added.effect & 1 <> 0 AND cardinality(last.open_calls) = 0;
            IF opens THEN
                last.exchange := last.exchange + 1;
            END IF;
            IF added.effect > 1 THEN
                IF added.effect & 2 <> 0 THEN
                    last.open_calls := '{}';
                    last.open_since := '{}';
                ELSIF added.effect & 24 <> 0 THEN
                    since := array_position(last.open_calls, added.call);
                    IF since IS NOT NULL THEN
                        last.open_calls :=
                            last.open_calls[:since - 1] || last.open_calls[since + 1:];
                        last.open_since :=
                            last.open_since[:since - 1] || last.open_since[since + 1:];
                    END IF;
                    IF added.effect & 8 <> 0 THEN
                        last.open_calls := last.open_calls || added.call;
                        last.open_since := last.open_since || last.version;
                    END IF;
                END IF;
                IF added.effect & 4 <> 0 THEN last.closed := true; END IF;
                IF added.effect & 32 <> 0 THEN last.instructions := last.version; END IF;
                IF added.effect & 64 <> 0 THEN last.tools := last.version; END IF;
                IF added.effect & 128 <> 0 THEN last.request := last.version; END IF;
                IF added.effect & 256 <> 0 THEN last.adopted := last.version; END IF;
                IF added.effect & 512 <> 0 THEN last.amended := last.version; END IF;
            END IF;
            new_input_tokens := least(new_input_tokens + added.input_tokens, most_tokens);
            new_output_tokens := least(new_output_tokens + added.output_tokens, most_tokens);
            INSERT INTO hansard.event VALUES (
                last.position, last.version, last.exchange, last.recorded_at,
                asked.conversation_id, added.event_id, asked.tenant, added.schema_version,
                at_shard, opens,
                CASE added.effect & 992 WHEN 32 THEN 'instructions' WHEN 64 THEN 'tools'
                    WHEN 128 THEN 'request' WHEN 256 THEN 'adopted' WHEN 512 THEN 'amended' END,
                added.type, added.once, added.header, digests[ordinal],
                sha256('\x00'::bytea || added.header || int8send(last.version)
                    || int8send(last.position) || int8send(last.recorded_at) || digests[ordinal]),
                added.salt, added.body
            );
        END LOOP;

        IF begun THEN
            UPDATE hansard.conversation_head AS h SET
                version = last.version, exchange = last.exchange, closed = last.closed,
                instructions = last.instructions, tools = last.tools, request = last.request,
                adopted = last.adopted, amended = last.amended,
                input_tokens = least(h.input_tokens + new_input_tokens, most_tokens),
                output_tokens = least(h.output_tokens + new_output_tokens, most_tokens),
                open_calls = last.open_calls, open_since = last.open_since,
                position = last.position, recorded_at = last.recorded_at
            WHERE h.shard = at_shard AND h.conversation_id = asked.conversation_id;
        ELSE
            INSERT INTO hansard.conversation_head VALUES (
                asked.conversation_id, asked.tenant, at_shard, last.closed, last.version,
                last.exchange, last.instructions, last.tools, last.request, last.adopted,
                last.amended, new_input_tokens, new_output_tokens, last.position, last.recorded_at,
                last.recorded_at, last.open_calls, last.open_since
            );
        END IF;
        IF cardinality(asked.blobs) > 0 THEN
            UPDATE hansard.blob AS b SET referenced = true
            WHERE b.shard = at_shard AND b.conversation_id = asked.conversation_id
                AND b.digest = ANY (asked.blobs) AND NOT b.referenced;
        END IF;
        verdict := 'recorded';
        last_version := last.version;
        last_position := last.position;
        RETURN NEXT;
    END LOOP;
END $$;
