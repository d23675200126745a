-- The verbs beside append: the catalogue, blobs, erasure, incarnations; and who may use them.

-- The tenant that the caller is bound to; null if it works for all.
CREATE FUNCTION onrecord.bound_tenant() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT c.tenant FROM onrecord.caller AS c WHERE c.role = session_user);

-- Raise unless a conversation takes what a tenant brings; it is not forgotten before the caller's
-- transaction ends. A new conversation takes anybody's.
CREATE FUNCTION onrecord.must_take(of_tenant uuid, of_conversation uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known record;
BEGIN
    SELECT h.tenant, h.forgotten INTO known FROM onrecord.conversation_head AS h
    WHERE h.conversation_id = of_conversation FOR KEY SHARE;
    IF known.tenant <> of_tenant THEN
        RAISE SQLSTATE 'ZH001' USING MESSAGE = 'the conversation is another tenant''s';
    END IF;
    IF known.forgotten THEN
        RAISE SQLSTATE 'ZH002' USING MESSAGE = 'the conversation was forgotten';
    END IF;
END $$;

---------------------------------------------------------------------------------------------------
-- Catalogue
---------------------------------------------------------------------------------------------------

-- The id of the conversation of a key: the one it has, else the one proposed.
CREATE FUNCTION onrecord.open_conversation(of_tenant uuid, of_key bytea, proposed uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_shard smallint := onrecord.shard_of(of_tenant);
    found_id uuid;
BEGIN
    PERFORM onrecord.must_take(of_tenant, proposed);
    INSERT INTO onrecord.conversation_key (shard, tenant, key, conversation_id)
    VALUES (of_shard, of_tenant, of_key, proposed)
    ON CONFLICT DO NOTHING;
    SELECT k.conversation_id INTO found_id FROM onrecord.conversation_key AS k
    WHERE k.shard = of_shard AND k.tenant = of_tenant AND k.key = of_key;
    RETURN found_id;
END $$;

---------------------------------------------------------------------------------------------------
-- Blobs: chunks first, each durable by itself; the digest last, which makes them a blob
---------------------------------------------------------------------------------------------------

-- Store a chunk; number 0 begins the blob.
CREATE FUNCTION onrecord.put_chunk(
    of_tenant uuid, of_conversation uuid, of_blob uuid, chunk_number integer, chunk bytea
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_shard smallint := onrecord.shard_of(of_tenant);
BEGIN
    PERFORM onrecord.must_take(of_tenant, of_conversation);
    IF chunk_number = 0 THEN
        INSERT INTO onrecord.blob (shard, conversation_id, blob_id, tenant)
        VALUES (of_shard, of_conversation, of_blob, of_tenant)
        ON CONFLICT DO NOTHING;
    END IF;
    PERFORM FROM onrecord.blob AS b
    WHERE b.shard = of_shard AND b.conversation_id = of_conversation AND b.blob_id = of_blob
        AND b.tenant = of_tenant AND b.digest IS NULL
    FOR SHARE;
    IF NOT FOUND THEN
        RAISE no_data_found USING MESSAGE = 'the blob was swept while it came in';
    END IF;
    INSERT INTO onrecord.blob_chunk (shard, blob_id, number, tenant, data)
    VALUES (of_shard, of_blob, chunk_number, of_tenant, chunk)
    ON CONFLICT DO NOTHING;
END $$;

-- Close a blob with its digest. If the conversation has those bytes already, its grace begins anew
-- and the copy goes.
CREATE FUNCTION onrecord.seal_blob(
    of_tenant uuid, of_conversation uuid, of_blob uuid, of_digest bytea, of_size bigint
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_shard smallint := onrecord.shard_of(of_tenant);
BEGIN
    PERFORM onrecord.must_take(of_tenant, of_conversation);
    UPDATE onrecord.blob AS b SET digest = of_digest, size = of_size, stored_at = onrecord.clock()
    WHERE b.shard = of_shard AND b.conversation_id = of_conversation AND b.blob_id = of_blob
        AND b.tenant = of_tenant;
    -- Asked again after a lost reply, the copy may have gone already.
    IF NOT FOUND AND NOT EXISTS (
        SELECT FROM onrecord.blob AS b
        WHERE b.shard = of_shard AND b.conversation_id = of_conversation AND b.digest = of_digest
    ) THEN
        RAISE no_data_found USING MESSAGE = 'the blob was swept while it came in';
    END IF;
EXCEPTION WHEN unique_violation THEN
    UPDATE onrecord.blob AS b SET stored_at = onrecord.clock()
    WHERE b.shard = of_shard AND b.conversation_id = of_conversation AND b.digest = of_digest;
    DELETE FROM onrecord.blob_chunk AS c WHERE c.shard = of_shard AND c.blob_id = of_blob;
    DELETE FROM onrecord.blob AS b
    WHERE b.shard = of_shard AND b.conversation_id = of_conversation AND b.blob_id = of_blob;
END $$;

-- Delete blobs that no event refers to and that were stored before a time; how many went.
CREATE FUNCTION onrecord.sweep_blobs(older_than bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bound uuid := onrecord.bound_tenant();
    swept bigint;
BEGIN
    WITH gone AS (
        DELETE FROM onrecord.blob AS b
        WHERE NOT b.referenced AND b.stored_at < older_than AND b.tenant = coalesce(bound, b.tenant)
        RETURNING b.shard, b.blob_id
    ), chunks AS (
        DELETE FROM onrecord.blob_chunk AS c USING gone
        WHERE c.shard = gone.shard AND c.blob_id = gone.blob_id
    )
    SELECT count(*) INTO swept FROM gone;
    RETURN swept;
END $$;

---------------------------------------------------------------------------------------------------
-- Erasure
---------------------------------------------------------------------------------------------------

-- Erase what a conversation says, its blobs and its key; how many events were erased. It looks under
-- the lock of the shard, so that no append comes between; and once nobody stores a blob in it.
CREATE FUNCTION onrecord.forget(of_conversation uuid) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    bound uuid := onrecord.bound_tenant();
    at_shard smallint;
    erased bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE feature_not_supported
            USING MESSAGE = 'onrecord.forget runs in READ COMMITTED transactions only';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    SELECT known.shard INTO at_shard FROM (
        SELECT h.shard FROM onrecord.conversation_head AS h
        WHERE h.conversation_id = of_conversation AND h.tenant = coalesce(bound, h.tenant)
        UNION ALL
        SELECT k.shard FROM onrecord.conversation_key AS k
        WHERE k.conversation_id = of_conversation AND k.tenant = coalesce(bound, k.tenant)
        UNION ALL
        SELECT b.shard FROM onrecord.blob AS b
        WHERE b.conversation_id = of_conversation AND b.tenant = coalesce(bound, b.tenant)
    ) AS known LIMIT 1;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(1212239443, at_shard);
    PERFORM FROM onrecord.conversation_head AS h
    WHERE h.shard = at_shard AND h.conversation_id = of_conversation
        AND h.tenant = coalesce(bound, h.tenant)
    FOR UPDATE;
    UPDATE onrecord.conversation_head AS h
    SET forgotten = true, open_calls = '{}', open_since = '{}'
    WHERE h.shard = at_shard AND h.conversation_id = of_conversation
        AND h.tenant = coalesce(bound, h.tenant);
    PERFORM set_config('onrecord.erasing', 'on', true);
    UPDATE onrecord.event AS e SET salt = NULL, body = NULL, once = NULL
    WHERE e.shard = at_shard AND e.conversation_id = of_conversation AND e.body IS NOT NULL
        AND e.tenant = coalesce(bound, e.tenant);
    GET DIAGNOSTICS erased = ROW_COUNT;
    PERFORM set_config('onrecord.erasing', 'off', true);

    WITH gone AS (
        DELETE FROM onrecord.blob AS b
        WHERE b.conversation_id = of_conversation AND b.tenant = coalesce(bound, b.tenant)
        RETURNING b.shard, b.blob_id
    )
    DELETE FROM onrecord.blob_chunk AS c USING gone
    WHERE c.shard = gone.shard AND c.blob_id = gone.blob_id;
    DELETE FROM onrecord.conversation_key AS k
    WHERE k.conversation_id = of_conversation AND k.tenant = coalesce(bound, k.tenant);
    DELETE FROM onrecord.snapshot AS s
    WHERE s.conversation_id = of_conversation AND s.tenant = coalesce(bound, s.tenant);
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
CREATE FUNCTION onrecord.incarnation() RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place_now text;
    known onrecord.meta;
    next_one uuid;
BEGIN
    SELECT m.* INTO known FROM onrecord.meta AS m;
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
        UPDATE onrecord.meta AS m SET place = place_now, incarnation = next_one
        WHERE m.place = known.place;
    END IF;
    RETURN next_one;
END $$;

---------------------------------------------------------------------------------------------------
-- Roles
---------------------------------------------------------------------------------------------------

ALTER TABLE onrecord.tenant ENABLE ROW LEVEL SECURITY;
ALTER TABLE onrecord.event ENABLE ROW LEVEL SECURITY;
ALTER TABLE onrecord.conversation_head ENABLE ROW LEVEL SECURITY;
ALTER TABLE onrecord.conversation_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE onrecord.blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE onrecord.blob_chunk ENABLE ROW LEVEL SECURITY;
ALTER TABLE onrecord.snapshot ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON onrecord.tenant
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
CREATE POLICY own ON onrecord.event
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
CREATE POLICY own ON onrecord.conversation_head
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
CREATE POLICY own ON onrecord.conversation_key
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
CREATE POLICY own ON onrecord.blob
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
CREATE POLICY own ON onrecord.blob_chunk
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
CREATE POLICY own ON onrecord.snapshot
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));

-- Let a role read and call the verbs; `bound` binds it to one tenant, null unbinds it.
CREATE FUNCTION onrecord.admit(newcomer name, bound uuid DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA onrecord TO %I', newcomer);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA onrecord TO %I', newcomer);
    EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA onrecord TO %I', newcomer);
    EXECUTE format('GRANT INSERT, UPDATE ON onrecord.tracking TO %I', newcomer);
    EXECUTE format('GRANT INSERT ON onrecord.snapshot TO %I', newcomer);
    EXECUTE format(
        'REVOKE EXECUTE ON FUNCTION onrecord.admit(name, uuid) FROM %I', newcomer);
    DELETE FROM onrecord.caller AS c WHERE c.role = newcomer;
    IF bound IS NOT NULL THEN
        INSERT INTO onrecord.caller (role, tenant) VALUES (newcomer, bound);
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA onrecord FROM PUBLIC;
