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

-- A conversation that has not begun.
CREATE FUNCTION hansard.new_head(tenant uuid, conversation uuid, shard smallint)
RETURNS hansard.conversation_head LANGUAGE sql IMMUTABLE AS $$
    SELECT ROW(conversation, tenant, shard, false, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        '{}'::bytea[], '{}'::bigint[])::hansard.conversation_head
$$;

-- Whether events were recorded before: `duplicate` if all were, with the same content, `mismatch` if
-- an id or a once-name stands for other content or only some are known; null if they are new.
-- Content that was erased cannot be compared: the same id is enough then.
CREATE FUNCTION hansard.repetition(
    of_shard smallint, of_tenant uuid, of_conversation uuid,
    event_ids uuid[], types text[], bodies bytea[], onces bytea[],
    OUT verdict text, OUT first_version bigint, OUT last_version bigint
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    known hansard.event;
    count_known integer := 0;
    first_known integer;
BEGIN
    FOR added IN 1 .. cardinality(event_ids) LOOP
        SELECT e.* INTO known FROM hansard.event AS e
        WHERE e.shard = of_shard AND e.tenant = of_tenant AND e.event_id = event_ids[added];
        IF NOT FOUND THEN
            SELECT e.* INTO known FROM hansard.event AS e
            WHERE e.shard = of_shard AND e.conversation_id = of_conversation
                AND e.once = onces[added];
        END IF;
        CONTINUE WHEN NOT FOUND;
        IF known.conversation_id <> of_conversation OR known.type <> types[added]
            OR sha256(known.salt || bodies[added]) <> known.digest
        THEN
            verdict := 'mismatch';
            first_version := added - 1;
            RETURN;
        END IF;
        count_known := count_known + 1;
        first_known := coalesce(first_known, added);
        first_version := least(first_version, known.version);
        last_version := greatest(last_version, known.version);
    END LOOP;
    IF count_known = cardinality(event_ids) THEN
        verdict := 'duplicate';
        first_version := coalesce(first_version, 0);
        last_version := coalesce(last_version, 0);
        RETURN;
    END IF;
    IF count_known > 0 THEN
        verdict := 'mismatch';
        first_version := first_known - 1;
        RETURN;
    END IF;
    FOR added IN 2 .. cardinality(event_ids) LOOP
        IF event_ids[added] = ANY (event_ids[:added - 1]) OR onces[added] = ANY (onces[:added - 1])
        THEN
            verdict := 'mismatch';
            first_version := added - 1;
            RETURN;
        END IF;
    END LOOP;
END $$;

-- Record what can be recorded; a row for each request, in order. A request is an index into the
-- first four arrays, and has the next `counts[i]` events. What a row says:
--   recorded   first and last version, position of the last event
--   duplicate  first and last version that the events have
--   conflict   first: the version at which the conversation is
--   mismatch   first: the ordinal (from 0) of the event that stands for other content
-- `expected` is the version at which the writer believes the conversation is, or null; -1 lets a
-- conversation that has not begun begin at version 0. `effects` are bits: 1 prompts, 2 gives up,
-- 4 closes, 8 opens a call, 16 closes a call (`calls` names it), 32 instructions, 64 tools,
-- 128 request.
CREATE FUNCTION hansard.append(
    tenants uuid[], conversations uuid[], expected bigint[], counts integer[],
    event_ids uuid[], types text[], schema_versions integer[],
    headers bytea[], salts bytea[], bodies bytea[], onces bytea[],
    effects integer[], calls bytea[], input_tokens bigint[], output_tokens bigint[],
    blobs bytea[], blob_requests integer[]
) RETURNS TABLE (verdict text, first_version bigint, last_version bigint, last_position bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    shards smallint[];
    at_shard smallint;
    at_position bigint;
    now_at bigint;
    head hansard.conversation_head;
    doubtful boolean;           -- perhaps recorded before
    begun boolean;
    low integer := 1;           -- the request's first event
    high integer := 0;          -- and its last
    effect integer;
    call bytea;
    since integer;
    opens boolean;
    new_digest bytea;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE feature_not_supported
            USING MESSAGE = 'hansard.append runs in READ COMMITTED transactions only';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    -- All locks come first and in order, so that two callers never wait for each other.
    FOR asked IN 1 .. cardinality(tenants) LOOP
        IF asked = 1 OR tenants[asked] <> tenants[asked - 1] THEN
            SELECT t.shard INTO at_shard FROM hansard.tenant AS t
            WHERE t.tenant = tenants[asked] AND NOT EXISTS (
                SELECT FROM hansard.caller AS c
                WHERE c.role = session_user AND c.tenant <> t.tenant
            );
            IF NOT FOUND THEN
                at_shard := hansard.shard_of(tenants[asked]);
            END IF;
        END IF;
        shards[asked] := at_shard;
    END LOOP;
    IF cardinality(shards) = 1 THEN
        PERFORM pg_advisory_xact_lock(1212239443, at_shard);
    ELSE
        PERFORM pg_advisory_xact_lock(1212239443, s.shard)
        FROM (SELECT DISTINCT n FROM unnest(shards) AS n ORDER BY n) AS s (shard);
    END IF;

    FOR asked IN 1 .. cardinality(tenants) LOOP
        low := high + 1;
        high := high + counts[asked];
        IF asked = 1 OR at_shard <> shards[asked] THEN
            at_shard := shards[asked];
            SELECT e.position, e.recorded_at INTO at_position, now_at FROM hansard.event AS e
            WHERE e.shard = at_shard ORDER BY e.position DESC LIMIT 1;
            at_position := coalesce(at_position, 0);
            now_at := greatest(
                now_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
            );
        END IF;

        -- One look at a time: a join would be planned by how large the table was once.
        doubtful := high < low OR high > low AND (
            SELECT count(*) > count(DISTINCT n.id) OR count(n.once) > count(DISTINCT n.once)
            FROM unnest(event_ids[low:high], onces[low:high]) AS n (id, once)
        );
        FOR added IN low .. high LOOP
            EXIT WHEN doubtful;
            doubtful := EXISTS (
                SELECT FROM hansard.event AS e
                WHERE e.shard = at_shard AND e.tenant = tenants[asked]
                    AND e.event_id = event_ids[added]
            ) OR EXISTS (
                SELECT FROM hansard.event AS e
                WHERE e.shard = at_shard AND e.conversation_id = conversations[asked]
                    AND e.once = onces[added]
            );
        END LOOP;
        IF doubtful THEN
            SELECT r.* INTO verdict, first_version, last_version
            FROM hansard.repetition(
                at_shard, tenants[asked], conversations[asked], event_ids[low:high],
                types[low:high], bodies[low:high], onces[low:high]
            ) AS r;
            last_position := NULL;
            RETURN NEXT;
            CONTINUE;
        END IF;

        SELECT h.* INTO head FROM hansard.conversation_head AS h
        WHERE h.shard = at_shard AND h.conversation_id = conversations[asked];
        begun := FOUND;
        IF NOT begun THEN
            IF EXISTS (
                SELECT FROM hansard.conversation_head AS h
                WHERE h.conversation_id = conversations[asked] AND h.tenant <> tenants[asked]
            ) THEN
                RAISE insufficient_privilege USING MESSAGE = 'the conversation is another tenant''s';
            END IF;
            head := hansard.new_head(tenants[asked], conversations[asked], at_shard);
            IF expected[asked] = -1 THEN head.version := -1; END IF;
            head.started_at := now_at;
        ELSIF head.tenant <> tenants[asked] THEN
            RAISE insufficient_privilege USING MESSAGE = 'the conversation is another tenant''s';
        END IF;
        IF expected[asked] <> head.version THEN
            verdict := 'conflict';
            first_version := head.version;
            last_version := NULL;
            last_position := NULL;
            RETURN NEXT;
            CONTINUE;
        END IF;

        first_version := head.version + 1;
        FOR added IN low .. high LOOP
            effect := effects[added];
            opens := effect & 1 <> 0 AND cardinality(head.open_calls) = 0;
            at_position := at_position + 1;
            head.version := head.version + 1;
            head.exchange := head.exchange + opens::integer;
            IF effect & 2 <> 0 THEN
                head.open_calls := '{}';
                head.open_since := '{}';
            ELSIF effect & 24 <> 0 THEN
                call := calls[added];
                since := array_position(head.open_calls, call);
                IF since IS NOT NULL THEN
                    head.open_calls := head.open_calls[:since - 1] || head.open_calls[since + 1:];
                    head.open_since := head.open_since[:since - 1] || head.open_since[since + 1:];
                END IF;
                IF effect & 8 <> 0 THEN
                    head.open_calls := head.open_calls || call;
                    head.open_since := head.open_since || head.version;
                END IF;
            END IF;
            IF effect & 4 <> 0 THEN head.closed := true; END IF;
            IF effect & 32 <> 0 THEN head.instructions := head.version; END IF;
            IF effect & 64 <> 0 THEN head.tools := head.version; END IF;
            IF effect & 128 <> 0 THEN head.request := head.version; END IF;
            head.input_tokens := head.input_tokens + input_tokens[added];
            head.output_tokens := head.output_tokens + output_tokens[added];

            new_digest := sha256(salts[added] || bodies[added]);
            INSERT INTO hansard.event VALUES (
                at_position, head.version, head.exchange, now_at, conversations[asked],
                event_ids[added], tenants[asked], schema_versions[added], at_shard, opens,
                CASE effect & 224 WHEN 32 THEN 'instructions' WHEN 64 THEN 'tools'
                    WHEN 128 THEN 'request' END,
                types[added], onces[added], headers[added], new_digest,
                sha256('\x00'::bytea || headers[added] || int8send(head.version)
                    || int8send(at_position) || int8send(now_at) || new_digest),
                salts[added], bodies[added]
            );
        END LOOP;

        IF begun THEN
            UPDATE hansard.conversation_head AS h SET
                version = head.version, exchange = head.exchange, closed = head.closed,
                instructions = head.instructions, tools = head.tools, request = head.request,
                input_tokens = head.input_tokens, output_tokens = head.output_tokens,
                open_calls = head.open_calls, open_since = head.open_since,
                position = at_position, recorded_at = now_at
            WHERE h.shard = at_shard AND h.conversation_id = conversations[asked];
        ELSE
            head.position := at_position;
            head.recorded_at := now_at;
            INSERT INTO hansard.conversation_head SELECT head.*;
        END IF;
        IF cardinality(blobs) > 0 THEN
            UPDATE hansard.blob AS b SET referenced = true
            FROM unnest(blobs, blob_requests) AS n (digest, asker)
            WHERE n.asker = asked AND b.shard = at_shard
                AND b.conversation_id = conversations[asked] AND b.digest = n.digest
                AND NOT b.referenced;
        END IF;
        verdict := 'recorded';
        last_version := head.version;
        last_position := at_position;
        RETURN NEXT;
    END LOOP;
END $$;
