-- The clock, the triggers that keep events as they are.

-- Microseconds since 1970-01-01 UTC, as all times here.
CREATE OR REPLACE FUNCTION {log}.clock() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- The same for UPDATE and DELETE: Citus takes nothing volatile there.
CREATE OR REPLACE FUNCTION {log}.moment() RETURNS bigint LANGUAGE sql STABLE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- Immutable: nothing changes an event but its erasure, which takes salt, body and once-name away.
CREATE OR REPLACE FUNCTION {log}.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    erased {log}.event;
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('{log}.erasing', true) = 'on' THEN
        erased := OLD;
        erased.salt := NULL;
        erased.body := NULL;
        erased.once := NULL;
        IF NEW IS NOT DISTINCT FROM erased THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE object_not_in_prerequisite_state USING
        MESSAGE = format('events are immutable: %s was refused', TG_OP),
        HINT = '{log}.forget(conversation) erases what a conversation says.';
END $$;
CREATE OR REPLACE TRIGGER event_is_immutable BEFORE UPDATE OR DELETE ON {log}.event
    FOR EACH ROW EXECUTE FUNCTION {log}.refuse_change();
CREATE OR REPLACE TRIGGER event_is_kept BEFORE TRUNCATE ON {log}.event
    FOR EACH STATEMENT EXECUTE FUNCTION {log}.refuse_change();

-- The tenant that is the operators' stream of another one (domain/erasures.py).
CREATE OR REPLACE FUNCTION {log}.operators_of(of_tenant uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT
RETURN (
    SELECT encode('ONRC'::bytea || substring(
        set_byte(set_byte(d.digest, 6, get_byte(d.digest, 6) & 15 | 128),
            8, get_byte(d.digest, 8) & 63 | 128) FROM 5 FOR 12), 'hex')::uuid
    FROM (SELECT sha256('onrecord operators'::bytea || uuid_send(of_tenant)) AS digest) AS d
);

-- Whether an id is of the operators' streams: of their tenant, or of one of them. It begins with the
-- bytes of ONRC, or of ONRA for what was read, ONRD for a key of a subject, ONRK for a key of the service, ONRH for a
-- hold, ONRM for what came from another log, ONRT for a retention class, and is a UUID of version 8; no tenant and no conversation has such an id.
CREATE OR REPLACE FUNCTION {log}.is_marked(id uuid) RETURNS boolean
LANGUAGE sql IMMUTABLE -- not STRICT: what is, PostgreSQL may not inline
RETURN (id >= '4f4e5241-0000-0000-0000-000000000000' AND id <= '4f4e5241-ffff-ffff-ffff-ffffffffffff'
        OR id >= '4f4e5243-0000-0000-0000-000000000000' AND id <= '4f4e5243-ffff-ffff-ffff-ffffffffffff'
        OR id >= '4f4e5244-0000-0000-0000-000000000000' AND id <= '4f4e5244-ffff-ffff-ffff-ffffffffffff'
        OR id >= '4f4e5248-0000-0000-0000-000000000000' AND id <= '4f4e5248-ffff-ffff-ffff-ffffffffffff'
        OR id >= '4f4e524b-0000-0000-0000-000000000000' AND id <= '4f4e524b-ffff-ffff-ffff-ffffffffffff'
        OR id >= '4f4e524d-0000-0000-0000-000000000000' AND id <= '4f4e524d-ffff-ffff-ffff-ffffffffffff'
        OR id >= '4f4e5254-0000-0000-0000-000000000000' AND id <= '4f4e5254-ffff-ffff-ffff-ffffffffffff')
    AND get_byte(uuid_send(id), 6) >> 4 = 8;

-- Whether an id is of a stream that tells what was read.
CREATE OR REPLACE FUNCTION {log}.is_access(id uuid) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN id >= '4f4e5241-0000-0000-0000-000000000000' AND id <= '4f4e5241-ffff-ffff-ffff-ffffffffffff'
    AND get_byte(uuid_send(id), 6) >> 4 = 8;

-- The stream of operators that says that the key of a tenant's subject is destroyed.
CREATE OR REPLACE FUNCTION {log}.destroyed_key_id(of_tenant uuid, key_id text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT
RETURN (
    SELECT encode('ONRD'::bytea || substring(
        set_byte(set_byte(d.digest, 6, get_byte(d.digest, 6) & 15 | 128),
            8, get_byte(d.digest, 8) & 63 | 128) FROM 5 FOR 12), 'hex')::uuid
    FROM (SELECT sha256(
        'onrecord destroyed key'::bytea || uuid_send(of_tenant) || convert_to(key_id, 'UTF8')
    ) AS digest) AS d
);

-- Whether an id is of the stream of a key of the service.
CREATE OR REPLACE FUNCTION {log}.is_key(id uuid) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN id >= '4f4e524b-0000-0000-0000-000000000000' AND id <= '4f4e524b-ffff-ffff-ffff-ffffffffffff'
    AND get_byte(uuid_send(id), 6) >> 4 = 8;
