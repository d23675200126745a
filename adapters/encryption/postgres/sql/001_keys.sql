-- The wrapped keys of the subjects of one log, in a schema of their own.
--
-- The tables are as in a file (adapters/encryption/sqlite/sql/001_keys.sql). Roles other than the owner read
-- them, and write by the functions below alone: so none of them brings back what was destroyed.

-- The steps that made this schema (adapters/storage/queries.py), each with the digest of its SQL.
CREATE TABLE {keys}.migration (
    number integer PRIMARY KEY,
    digest bytea NOT NULL
);

CREATE TABLE {keys}.meta (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    log uuid NOT NULL, -- the id of the log whose keys these are
    residue boolean NOT NULL DEFAULT false -- the table's files may hold what was destroyed or replaced
);

CREATE TABLE {keys}.generation (
    name text PRIMARY KEY,
    is_closed boolean NOT NULL DEFAULT false,
    retired_at bigint,
    undoable_until bigint -- until when its owner's KMS can bring it back; NULL: nobody can
);

CREATE TABLE {keys}.subject_key (
    key_id text PRIMARY KEY,
    subject bytea UNIQUE,
    generation text NOT NULL REFERENCES {keys}.generation (name),
    wrapped bytea,
    created_at bigint NOT NULL,
    destroyed_at bigint,
    CHECK ((wrapped IS NULL) = (destroyed_at IS NOT NULL)),
    CHECK ((wrapped IS NULL) = (subject IS NULL))
);

CREATE INDEX subject_key_generation ON {keys}.subject_key (generation);

-- Statistics would keep samples of what is destroyed.
ALTER TABLE {keys}.subject_key ALTER COLUMN subject SET STATISTICS 0;
ALTER TABLE {keys}.subject_key ALTER COLUMN wrapped SET STATISTICS 0;

-- Have the turn to write until the transaction ends: there is one writer at a time, as in a file. Each
-- statement of a caller sees what those before it committed, for it begins in READ COMMITTED.
CREATE FUNCTION {keys}.turn(of_log uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    whose uuid;
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    SELECT m.log INTO whose FROM {keys}.meta AS m FOR UPDATE;
    IF whose IS DISTINCT FROM of_log THEN
        RAISE EXCEPTION 'the keys of another log' USING ERRCODE = 'ZH011';
    END IF;
END $$;

-- Know a generation, and refuse one that takes no more keys. The caller has the turn.
CREATE FUNCTION {keys}.must_be_open(of_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {keys}.generation (name) VALUES (of_name) ON CONFLICT DO NOTHING;
    IF (SELECT g.is_closed FROM {keys}.generation AS g WHERE g.name = of_name) THEN
        RAISE EXCEPTION 'the generation is closed' USING ERRCODE = 'ZH010';
    END IF;
END $$;

-- The key of a subject: the new one, unless it has one.
CREATE FUNCTION {keys}.add_key(
    of_log uuid, new_id text, new_subject bytea, new_generation text, new_wrapped bytea, at bigint
) RETURNS SETOF {keys}.subject_key
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {keys}.turn(of_log);
    RETURN QUERY SELECT k.* FROM {keys}.subject_key AS k WHERE k.subject = new_subject;
    IF FOUND THEN
        RETURN;
    END IF;
    PERFORM {keys}.must_be_open(new_generation);
    RETURN QUERY INSERT INTO {keys}.subject_key AS k (key_id, subject, generation, wrapped, created_at)
        VALUES (new_id, new_subject, new_generation, new_wrapped, at) RETURNING k.*;
END $$;

-- What is left of a key says neither what it was nor whose.
CREATE FUNCTION {keys}.destroy_key(of_log uuid, of_id text, at bigint)
RETURNS SETOF {keys}.subject_key
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {keys}.turn(of_log);
    UPDATE {keys}.subject_key AS k SET wrapped = NULL, subject = NULL, destroyed_at = at
    WHERE k.key_id = of_id AND k.destroyed_at IS NULL;
    IF FOUND THEN
        UPDATE {keys}.meta SET residue = true;
    END IF;
    RETURN QUERY SELECT k.* FROM {keys}.subject_key AS k WHERE k.key_id = of_id;
END $$;

-- Wrap keys anew, all or none, but for those that were destroyed or replaced meanwhile. Return how many are
-- wrapped so now: who asks again, since the first answer was lost, is told the same.
CREATE FUNCTION {keys}.replace_keys(
    of_log uuid, ids text[], old_generations text[], old_data bytea[],
    new_generations text[], new_data bytea[]
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed integer;
BEGIN
    PERFORM {keys}.turn(of_log);
    PERFORM {keys}.must_be_open(new.name)
    FROM (SELECT DISTINCT n.name FROM unnest(new_generations) AS n (name)) AS new;
    UPDATE {keys}.subject_key AS k SET generation = r.new_generation, wrapped = r.anew
    FROM unnest(ids, old_generations, old_data, new_generations, new_data)
        AS r (key_id, old_generation, old, new_generation, anew)
    WHERE k.key_id = r.key_id AND k.generation = r.old_generation AND k.wrapped = r.old;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed > 0 THEN
        UPDATE {keys}.meta SET residue = true;
    END IF;
    RETURN (
        SELECT count(*)
        FROM unnest(ids, new_generations, new_data) AS r (key_id, new_generation, anew)
        JOIN {keys}.subject_key AS k
            ON k.key_id = r.key_id AND k.generation = r.new_generation AND k.wrapped = r.anew
    );
END $$;

-- For good: its name never comes again.
CREATE FUNCTION {keys}.close_generation(of_log uuid, of_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {keys}.turn(of_log);
    INSERT INTO {keys}.generation AS g (name, is_closed) VALUES (of_name, true)
    ON CONFLICT (name) DO UPDATE SET is_closed = true;
END $$;

-- The first note counts.
CREATE FUNCTION {keys}.note_retired(of_log uuid, of_name text, at bigint, until bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {keys}.turn(of_log);
    UPDATE {keys}.generation AS g SET retired_at = at, undoable_until = until
    WHERE g.name = of_name AND g.is_closed AND g.retired_at IS NULL;
END $$;

-- Write the table and its indexes into new files, where the present ones may hold what was destroyed. A
-- change of a type does that with the rows that are there now, in a transaction, and VACUUM does not. It
-- waits for who reads.
CREATE FUNCTION {keys}.scrub(of_log uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {keys}.turn(of_log);
    IF NOT (SELECT m.residue FROM {keys}.meta AS m) THEN
        RETURN;
    END IF;
    ALTER TABLE {keys}.subject_key ALTER COLUMN wrapped TYPE bytea USING wrapped || ''::bytea;
    UPDATE {keys}.meta SET residue = false;
END $$;

-- Let a role use the keys, as the owner says: it reads the tables, and writes by these functions alone.
CREATE FUNCTION {keys}.admit(role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA {keys} TO %I', role);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA {keys} TO %I', role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION {keys}.add_key, {keys}.destroy_key, {keys}.replace_keys, '
        '{keys}.close_generation, {keys}.note_retired, {keys}.scrub TO %I', role);
END $$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA {keys} FROM PUBLIC;
