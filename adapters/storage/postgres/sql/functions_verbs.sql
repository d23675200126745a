-- The verbs beside append: the catalogue, blobs, erasure, incarnations; and who may use them.

-- The tenant that the caller is bound to; null if it works for all. Refuses who was not let in itself:
-- a member of a role that is bound would have its rights, and not be bound.
CREATE OR REPLACE FUNCTION {log}.bound_tenant() RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller CONSTANT name := session_user; -- not in a statement: Citus would look who runs it elsewhere
    owner CONSTANT name := current_user;
    bound uuid;
BEGIN
    SELECT c.tenant INTO bound FROM {log}.caller AS c WHERE c.role = caller;
    IF NOT FOUND AND NOT pg_has_role(caller, owner, 'MEMBER') THEN
        RAISE insufficient_privilege USING MESSAGE = 'this role was not let in itself';
    END IF;
    RETURN bound;
END $$;

-- The operators' stream that the caller may read, where it is bound to a tenant: a runtime reads none.
CREATE OR REPLACE FUNCTION {log}.bound_operators() RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller CONSTANT name := session_user; -- not in a statement: Citus would look who runs it elsewhere
BEGIN
    RETURN (SELECT {log}.operators_of(c.tenant) FROM {log}.caller AS c
        WHERE c.role = caller AND c.kind IN ('eraser', 'issuer', 'gateway', 'auditor'));
END $$;

-- Whether the log is encrypted, by its mark.
CREATE OR REPLACE FUNCTION {log}.is_encrypted() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(bool_or(l.encrypted), false) FROM {log}.shard_lock AS l
$$;

-- Whether what conversations say is in clear; one encrypted event outweighs those that somebody added without keys.
CREATE OR REPLACE FUNCTION {log}.is_said_in_clear() RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM {log}.event AS e
        WHERE {log}.is_clear(e.header) AND NOT {log}.is_marked(e.conversation_id)
    ) THEN
        RETURN false;
    END IF;
    RETURN NOT EXISTS (SELECT FROM {log}.event AS e WHERE {log}.is_under_keys(e.header));
END $$;

-- Mark the log as encrypted, unless what its conversations say is in clear; return whether it is marked. One that
-- is marked in some shards alone, since somebody took the mark from the others, is marked whole again. Who
-- appends meanwhile waits: what came before is seen here, and what comes later sees the mark. A log that is not
-- to be marked keeps nobody waiting.
CREATE OR REPLACE FUNCTION {log}.mark_encrypted() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE feature_not_supported
            USING MESSAGE = '{log}.mark_encrypted runs in READ COMMITTED transactions only';
    END IF;
    IF (SELECT bool_and(l.encrypted) FROM {log}.shard_lock AS l) THEN
        RETURN true;
    END IF;
    IF NOT {log}.is_encrypted() AND {log}.is_said_in_clear() THEN
        RETURN false;
    END IF;
    PERFORM FROM {log}.shard_lock AS l ORDER BY l.shard FOR NO KEY UPDATE;
    IF NOT {log}.is_encrypted() AND {log}.is_said_in_clear() THEN
        RETURN false;
    END IF;
    UPDATE {log}.shard_lock SET encrypted = true WHERE NOT encrypted;
    RETURN true;
END $$;

-- Raise unless a conversation takes what a tenant brings; it is not forgotten before the caller's
-- transaction ends. A new conversation takes anybody's.
CREATE OR REPLACE FUNCTION {log}.must_take(of_tenant uuid, of_conversation uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_forgotten boolean;
BEGIN
    IF of_tenant <> coalesce({log}.bound_tenant(), of_tenant) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this role is bound to another tenant';
    END IF;
    IF {log}.is_marked(of_conversation) <> {log}.is_marked(of_tenant) THEN
        RAISE SQLSTATE 'ZH005' USING MESSAGE = 'the id is kept for operators';
    END IF;
    -- Not locked: who holds a head of another tenant holds up its erasure.
    IF EXISTS (
        SELECT FROM {log}.conversation_head AS h
        WHERE h.conversation_id = of_conversation AND h.tenant <> of_tenant
    ) THEN
        RAISE SQLSTATE 'ZH001' USING MESSAGE = 'the conversation is another tenant''s';
    END IF;
    SELECT h.forgotten INTO is_forgotten FROM {log}.conversation_head AS h
    WHERE h.conversation_id = of_conversation AND h.tenant = of_tenant FOR KEY SHARE;
    IF is_forgotten THEN
        RAISE SQLSTATE 'ZH002' USING MESSAGE = 'the conversation was forgotten';
    END IF;
END $$;

---------------------------------------------------------------------------------------------------
-- Catalogue
---------------------------------------------------------------------------------------------------

-- The id of the conversation of a key: the one it has, else the one proposed. The one it had may be
-- forgotten before it is looked up: then the key is free again.
CREATE OR REPLACE FUNCTION {log}.open_conversation(of_tenant uuid, of_key bytea, proposed uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_shard smallint := {log}.shard_of(of_tenant);
    found_id uuid;
BEGIN
    PERFORM {log}.must_take(of_tenant, proposed);
    WHILE found_id IS NULL LOOP
        INSERT INTO {log}.conversation_key (shard, tenant, key, conversation_id)
        VALUES (of_shard, of_tenant, of_key, proposed)
        ON CONFLICT DO NOTHING;
        SELECT k.conversation_id INTO found_id FROM {log}.conversation_key AS k
        WHERE k.shard = of_shard AND k.tenant = of_tenant AND k.key = of_key;
    END LOOP;
    RETURN found_id;
END $$;

---------------------------------------------------------------------------------------------------
-- Blobs: chunks first, each durable by itself; the digest last, which makes them a blob
---------------------------------------------------------------------------------------------------

-- Store a chunk; number 0 begins the blob.
CREATE OR REPLACE FUNCTION {log}.put_chunk(
    of_tenant uuid, of_conversation uuid, of_blob uuid, chunk_number integer, chunk bytea
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_shard smallint := {log}.shard_of(of_tenant);
BEGIN
    PERFORM {log}.must_take(of_tenant, of_conversation);
    IF chunk_number = 0 THEN
        INSERT INTO {log}.blob (shard, conversation_id, blob_id, tenant)
        VALUES (of_shard, of_conversation, of_blob, of_tenant)
        ON CONFLICT DO NOTHING;
    END IF;
    PERFORM FROM {log}.blob AS b
    WHERE b.shard = of_shard AND b.conversation_id = of_conversation AND b.blob_id = of_blob
        AND b.tenant = of_tenant AND b.digest IS NULL
    FOR SHARE;
    IF NOT FOUND THEN
        RAISE no_data_found USING MESSAGE = 'the blob was swept while it came in';
    END IF;
    INSERT INTO {log}.blob_chunk (shard, blob_id, number, tenant, data)
    VALUES (of_shard, of_blob, chunk_number, of_tenant, chunk)
    ON CONFLICT DO NOTHING;
END $$;

-- Close a blob with its digest. If the conversation has those bytes already, their grace begins anew
-- and the copy goes; but a sweep may take them in this moment, and then the copy stays.
CREATE OR REPLACE FUNCTION {log}.seal_blob(
    of_tenant uuid, of_conversation uuid, of_blob uuid, of_digest bytea, of_size bigint
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_shard smallint := {log}.shard_of(of_tenant);
    is_here boolean;            -- our copy, beside another one
BEGIN
    PERFORM {log}.must_take(of_tenant, of_conversation);
    LOOP
        BEGIN
            UPDATE {log}.blob AS b SET digest = of_digest, size = of_size, stored_at = {log}.moment()
            WHERE b.shard = of_shard AND b.conversation_id = of_conversation AND b.blob_id = of_blob
                AND b.tenant = of_tenant;
            IF FOUND THEN
                RETURN;
            END IF;
            is_here := false; -- Asked again after a lost reply, the copy may have gone already.
        EXCEPTION WHEN unique_violation THEN
            is_here := true;
        END;
        UPDATE {log}.blob AS b SET stored_at = {log}.moment()
        WHERE b.shard = of_shard AND b.conversation_id = of_conversation AND b.digest = of_digest;
        EXIT WHEN FOUND;
        IF NOT is_here THEN
            RAISE no_data_found USING MESSAGE = 'the blob was swept while it came in';
        END IF;
    END LOOP;
    DELETE FROM {log}.blob_chunk AS c WHERE c.shard = of_shard AND c.blob_id = of_blob;
    DELETE FROM {log}.blob AS b
    WHERE b.shard = of_shard AND b.conversation_id = of_conversation AND b.blob_id = of_blob;
END $$;

-- Delete blobs that no event refers to and that were stored so many microseconds ago, by the server's
-- clock; how many went. Those that somebody has locked are in use, and are left for the next time.
CREATE OR REPLACE FUNCTION {log}.sweep_blobs(age bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bound uuid := {log}.bound_tenant();
    last bigint := {log}.clock() - age;
    swept bigint;
BEGIN
    WITH idle AS (
        SELECT b.shard, b.conversation_id, b.blob_id FROM {log}.blob AS b
        WHERE NOT b.referenced AND b.stored_at <= last AND b.tenant = coalesce(bound, b.tenant)
        FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM {log}.blob AS b USING idle
        WHERE b.shard = idle.shard AND b.conversation_id = idle.conversation_id
            AND b.blob_id = idle.blob_id
        RETURNING b.shard, b.blob_id
    ), chunks AS (
        DELETE FROM {log}.blob_chunk AS c USING gone
        WHERE c.shard = gone.shard AND c.blob_id = gone.blob_id
    )
    SELECT count(*) INTO swept FROM gone;
    RETURN swept;
END $$;

---------------------------------------------------------------------------------------------------
-- Tracking, for programs that use the `eventsourcing` library
---------------------------------------------------------------------------------------------------

-- Note how far a projection got; the position, or nothing where it is not beyond the one noted. A function,
-- for the right to UPDATE the table is one to lock it against other tenants.
CREATE OR REPLACE FUNCTION {log}.track(
    of_tenant uuid, of_recorder text, of_application text, reached bigint
) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF of_tenant <> coalesce({log}.bound_tenant(), of_tenant) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this role is bound to another tenant';
    END IF;
    RETURN QUERY INSERT INTO {log}.tracking AS t (tenant, recorder, application, position)
    VALUES (of_tenant, of_recorder, of_application, reached)
    ON CONFLICT (tenant, recorder, application) DO UPDATE SET position = excluded.position
    WHERE t.position < excluded.position
    RETURNING t.position;
END $$;

-- Keep a snapshot of an aggregate; its version, or nothing where there is one of that version. A function, for
-- a right to INSERT would let a role keep one of what is another tenant's, or of nothing. The owner may
-- keep one of what has not begun, as the library's own tests do.
CREATE OR REPLACE FUNCTION {log}.keep_snapshot(
    of_tenant uuid, of_conversation uuid, of_version bigint, of_type text, state bytea
) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller CONSTANT name := session_user;
BEGIN
    PERFORM {log}.must_take(of_tenant, of_conversation);
    IF EXISTS (SELECT FROM {log}.caller AS c WHERE c.role = caller) AND (
        {log}.is_marked(of_tenant) OR of_version < 0 OR NOT EXISTS (
            SELECT FROM {log}.conversation_head AS h
            WHERE h.conversation_id = of_conversation AND h.tenant = of_tenant
                AND h.version >= of_version))
    THEN
        RAISE insufficient_privilege
            USING MESSAGE = 'this role keeps snapshots of what its tenant recorded only';
    END IF;
    RETURN QUERY INSERT INTO {log}.snapshot AS s (tenant, conversation_id, version, type, body)
    VALUES (of_tenant, of_conversation, of_version, of_type, state)
    ON CONFLICT DO NOTHING
    RETURNING s.version;
END $$;

-- Keep the name of an actor; one that is there stays. Refuses tenants that are not the caller's. Those
-- who append to operators' streams alone keep the names under which they read.
CREATE OR REPLACE FUNCTION {log}.keep_actor_name(
    of_tenant uuid, of_digest bytea, of_actor uuid, as_name bytea
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller CONSTANT name := session_user;
    as_what text;
BEGIN
    SELECT c.kind INTO as_what FROM {log}.caller AS c WHERE c.role = caller;
    IF as_what IN ('auditor', 'eraser', 'operator') AND NOT {log}.is_marked(of_tenant) THEN
        PERFORM {log}.shard_to_append({log}.operators_of(of_tenant));
    ELSE
        PERFORM {log}.shard_of(of_tenant);
    END IF;
    INSERT INTO {log}.actor_name (tenant, digest, actor_id, name)
    VALUES (of_tenant, of_digest, of_actor, as_name)
    ON CONFLICT DO NOTHING;
END $$;

---------------------------------------------------------------------------------------------------
-- Erasure
---------------------------------------------------------------------------------------------------

-- Erase what a conversation says, its blobs and its key; how many events were erased. It looks under
-- the lock of the shard, so that no append comes between; and once nobody stores a blob in it.
-- By itself it would leave the views' rows: only who owns the log can, and does by {log}.forget.
CREATE OR REPLACE FUNCTION {log}.forget_in_log(of_conversation uuid) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    bound uuid := {log}.bound_tenant();
    at_shard smallint;
    erased bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE feature_not_supported
            USING MESSAGE = '{log}.forget runs in READ COMMITTED transactions only';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    at_shard := {log}.hold_conversation(of_conversation);
    IF at_shard IS NULL THEN
        RETURN 0;
    END IF;
    UPDATE {log}.conversation_head AS h
    SET forgotten = true, open_calls = '{}', open_since = '{}'
    WHERE h.shard = at_shard AND h.conversation_id = of_conversation
        AND h.tenant = coalesce(bound, h.tenant);
    PERFORM set_config('{log}.erasing', 'on', true);
    UPDATE {log}.event AS e SET salt = NULL, body = NULL, once = NULL
    WHERE e.shard = at_shard AND e.conversation_id = of_conversation AND e.body IS NOT NULL
        AND e.tenant = coalesce(bound, e.tenant);
    GET DIAGNOSTICS erased = ROW_COUNT;
    PERFORM set_config('{log}.erasing', 'off', true);

    WITH gone AS (
        DELETE FROM {log}.blob AS b
        WHERE b.conversation_id = of_conversation AND b.tenant = coalesce(bound, b.tenant)
        RETURNING b.shard, b.blob_id
    )
    DELETE FROM {log}.blob_chunk AS c USING gone
    WHERE c.shard = gone.shard AND c.blob_id = gone.blob_id;
    DELETE FROM {log}.conversation_key AS k
    WHERE k.conversation_id = of_conversation AND k.tenant = coalesce(bound, k.tenant);
    DELETE FROM {log}.snapshot AS s
    WHERE s.conversation_id = of_conversation AND s.tenant = coalesce(bound, s.tenant);
    -- What is erased may be the name of an actor, which has an id of its own.
    DELETE FROM {log}.actor_name AS a
    WHERE a.actor_id = of_conversation AND a.tenant = coalesce(bound, a.tenant);
    RETURN erased;
END $$;

---------------------------------------------------------------------------------------------------
-- Incarnation
---------------------------------------------------------------------------------------------------

-- The incarnation of the log, another one if the log is not where it was: on another server, in
-- another database (a dump restored, a copy made), on another timeline (a base backup recovered, a
-- standby promoted). It cannot see a disk set back to a snapshot, nor rows of a dump loaded into
-- this same database. A standby answers as its primary does. The next one follows from the last
-- one and the place, so that who may not write it down knows it too.
CREATE OR REPLACE FUNCTION {log}.incarnation() RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place_now text;
    known {log}.meta;
    next_one uuid;
BEGIN
    SELECT m.* INTO known FROM {log}.meta AS m;
    IF pg_is_in_recovery() THEN
        RETURN known.incarnation;
    END IF;
    -- The timeline is the first 8 digits of the name of the WAL file that is written now.
    SELECT concat_ws('/', s.system_identifier, d.oid,
        left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)) INTO place_now
    FROM pg_control_system() AS s, pg_database AS d WHERE d.datname = current_database();
    IF known.place = place_now THEN
        RETURN known.incarnation;
    END IF;
    next_one := left(encode(sha256(convert_to(
        concat_ws('/', known.incarnation, place_now), 'UTF8')), 'hex'), 32)::uuid;
    IF current_setting('transaction_read_only') = 'off' THEN
        UPDATE {log}.meta AS m SET place = place_now, incarnation = next_one
        WHERE m.place = known.place;
    END IF;
    RETURN next_one;
END $$;

-- How many shards the log has.
CREATE OR REPLACE FUNCTION {log}.shards() RETURNS smallint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.shards FROM {log}.meta AS m
$$;

-- How many parts a shard has.
CREATE OR REPLACE FUNCTION {log}.parts() RETURNS smallint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.parts FROM {log}.meta AS m
$$;

-- On Citus, raise unless the log lies on the node that was connected to: locks, settings and hints are
-- each node's own, and elsewhere two appends would not wait for each other.
CREATE OR REPLACE FUNCTION {log}.must_be_the_log_s_node() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'citus') THEN
        RETURN;
    END IF;
    -- By EXECUTE, for these tables are there on Citus alone.
    EXECUTE $citus$
        SELECT n.nodename || ':' || n.nodeport
        FROM pg_dist_shard AS s
        JOIN pg_dist_placement AS p ON p.shardid = s.shardid
        JOIN pg_dist_node AS n ON n.groupid = p.groupid
        WHERE s.logicalrelid = '{log}.event'::regclass
            AND n.groupid <> (SELECT l.groupid FROM pg_dist_local_group AS l)
    $citus$ INTO place;
    IF place IS NOT NULL THEN
        RAISE SQLSTATE 'ZH004' USING MESSAGE = place;
    END IF;
END $$;

-- What a connection has to know: the incarnation, the key of names, what seals in Redis, and the tenant
-- that the caller is bound to. A bound role gets a seal that follows from the log's and its tenant: with
-- it nobody makes or believes what was kept for another tenant. A sealer looks no name up, and has neither.
CREATE OR REPLACE FUNCTION {log}.identity(
    OUT incarnation uuid, OUT key bytea, OUT seal bytea, OUT tenant uuid
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller CONSTANT name := session_user;
BEGIN
    PERFORM {log}.must_be_the_log_s_node();
    SELECT m.key, m.seal INTO key, seal FROM {log}.meta AS m;
    IF NOT FOUND THEN
        RAISE data_corrupted USING MESSAGE = 'the row of meta is gone';
    END IF;
    incarnation := {log}.incarnation();
    tenant := {log}.bound_tenant();
    IF tenant IS NOT NULL THEN
        seal := sha256(seal || uuid_send(tenant));
    END IF;
    IF EXISTS (SELECT FROM {log}.caller AS c WHERE c.role = caller AND c.kind = 'sealer') THEN
        key := NULL;
        seal := NULL;
    END IF;
END $$;
