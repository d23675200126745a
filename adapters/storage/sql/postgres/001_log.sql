-- The log on PostgreSQL.
--
-- One table matters: onrecord.event holds what happened, a row an event, and nothing ever changes
-- there. Everything else exists to write it fast, to find things in it, or to take content back.
--
-- ORDER. Every tenant lives in one shard, for ever (its row in onrecord.tenant says which); a shard
-- is a sequence of events with positions 1, 2, 3 ... in the order of their commits. onrecord.append
-- gets that order from an advisory lock a shard, held until its commit: take the lock, read the
-- last position, insert behind it. So a reader that has seen position n has seen all before it,
-- there is no sequence that could leave gaps, no counter row that could bloat, and no lock on the
-- table that VACUUM would wait for. Every key begins with the shard, so that shards can move to
-- servers of their own one day. Nothing here NOTIFYs: that would put all commits in one queue.
--
-- WRITING is one call, onrecord.append(...): requests go in, each for one conversation and each
-- all-or-nothing, and a row comes out for each, its verdict. A conflict is a verdict too, never an
-- exception, so it costs the requests beside it nothing. The function computes what the log commits
-- to (docs/format.md): digest = SHA-256(salt || body), leaf = SHA-256(0x00 || header || version ||
-- position || recorded_at || digest), and moves the conversation's head by the rule that is written
-- down in domain/head.py. It commits synchronously, whatever the role's default is, and runs in
-- READ COMMITTED only: an older snapshot would not see the last position.
--
-- ERASING. onrecord.forget(...) sets the bodies, salts and once-names of a conversation to null and
-- deletes its blobs and its key; from then on it takes nothing any more. Headers, digests and leaves stay, so that what remains can still
-- be proven. Triggers refuse any other UPDATE, and every DELETE and TRUNCATE, to everyone.
--
-- ROLES. Whoever migrates owns everything here. An application should log in as another role,
-- let in by its owner: SELECT onrecord.admit('app') or, bound to one tenant,
-- SELECT onrecord.admit('app', '0190...'). An admitted role may read the tables and call the verbs;
-- it has no right to INSERT, UPDATE, DELETE or TRUNCATE. A role that is bound to a tenant sees that
-- tenant's rows only (row-level security) and writes for it only (the functions check each row).
-- A role that is not bound works for every tenant: then keeping tenants apart is its own task.
-- The binding goes by session_user, the role that logged in: SET ROLE does not change it.
--
-- NAMES. Conversation keys and once-names come as keyed digests (HMAC-SHA-256 with meta.key, cut to
-- 16 bytes). Ids of calls are bytes, for JSON allows text that PostgreSQL does not.

-- Microseconds since 1970-01-01 UTC, as all times here.
CREATE FUNCTION onrecord.clock() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

CREATE TABLE onrecord.migration (
    number integer PRIMARY KEY,
    applied_at bigint NOT NULL DEFAULT onrecord.clock()
);

-- One row. The incarnation is in every cursor; it is renewed when the log is found on another
-- server, database or timeline than before (see onrecord.incarnation).
CREATE TABLE onrecord.meta (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    key bytea NOT NULL,
    shards smallint NOT NULL DEFAULT 8 CHECK (shards > 0),
    incarnation uuid NOT NULL DEFAULT gen_random_uuid(),
    place text NOT NULL
);

CREATE TABLE onrecord.tenant (
    tenant uuid PRIMARY KEY,
    shard smallint NOT NULL
);

-- Roles that are bound to one tenant.
CREATE TABLE onrecord.caller (
    role name PRIMARY KEY,
    tenant uuid NOT NULL
);

-- No CHECKs: onrecord.append computes what stands here, and each would cost every append its time.
CREATE TABLE onrecord.event (
    position bigint NOT NULL,
    version bigint NOT NULL,
    exchange bigint NOT NULL,
    recorded_at bigint NOT NULL,
    conversation_id uuid NOT NULL,
    event_id uuid NOT NULL,                 -- made by the client: the idempotency key
    tenant uuid NOT NULL,
    schema_version integer NOT NULL,
    shard smallint NOT NULL,
    opens_exchange boolean NOT NULL,        -- a prompt that began an exchange
    pointer text,                           -- what the head points at, such as `request`
    type text NOT NULL,
    once bytea,                             -- digest of a name that a conversation holds only once
    header bytea NOT NULL,                  -- the exact bytes that the leaf commits to
    digest bytea NOT NULL,
    leaf bytea NOT NULL,
    salt bytea,
    body bytea,
    PRIMARY KEY (shard, position)
);
CREATE UNIQUE INDEX event_version ON onrecord.event (shard, conversation_id, version);
CREATE UNIQUE INDEX event_id ON onrecord.event (shard, tenant, event_id);
CREATE UNIQUE INDEX event_once ON onrecord.event (shard, conversation_id, once)
    WHERE once IS NOT NULL;
CREATE INDEX event_exchange ON onrecord.event (shard, conversation_id, exchange)
    WHERE opens_exchange;
CREATE INDEX event_pointer ON onrecord.event (shard, conversation_id, pointer, version)
    WHERE pointer IS NOT NULL;

-- Where each conversation stands (domain/head.py), written with the events and folded from them;
-- only `forgotten` is not. Who stores a blob holds its row FOR KEY SHARE, which no append waits for.
-- No index holds a column that an append changes, so its UPDATE stays within the page.
CREATE TABLE onrecord.conversation_head (
    conversation_id uuid NOT NULL,
    tenant uuid NOT NULL,
    shard smallint NOT NULL,
    closed boolean NOT NULL,
    version bigint NOT NULL,
    exchange bigint NOT NULL,
    instructions bigint NOT NULL,
    tools bigint NOT NULL,
    request bigint NOT NULL,
    adopted bigint NOT NULL,
    amended bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    position bigint NOT NULL,
    started_at bigint NOT NULL,
    recorded_at bigint NOT NULL,
    open_calls bytea[] NOT NULL,            -- ids of calls, and below the versions of their events
    open_since bigint[] NOT NULL,
    forgotten boolean NOT NULL DEFAULT false, -- it was erased, and takes nothing any more
    PRIMARY KEY (shard, conversation_id)
) WITH (fillfactor = 70);
CREATE INDEX conversation_head_id ON onrecord.conversation_head (conversation_id) INCLUDE (shard);
CREATE INDEX conversation_head_tenant ON onrecord.conversation_head (tenant);

CREATE TABLE onrecord.conversation_key (
    shard smallint NOT NULL,
    tenant uuid NOT NULL,
    key bytea NOT NULL CHECK (octet_length(key) = 16),
    conversation_id uuid NOT NULL,
    PRIMARY KEY (shard, tenant, key)
);
CREATE INDEX conversation_key_id ON onrecord.conversation_key (conversation_id);

-- Large bytes, in chunks of at most 1 MiB. A blob whose digest is null is still coming in.
CREATE TABLE onrecord.blob (
    shard smallint NOT NULL,
    conversation_id uuid NOT NULL,
    blob_id uuid NOT NULL,
    tenant uuid NOT NULL,
    digest bytea,
    size bigint NOT NULL DEFAULT 0,
    referenced boolean NOT NULL DEFAULT false,
    stored_at bigint NOT NULL DEFAULT onrecord.clock(),
    PRIMARY KEY (shard, conversation_id, blob_id)
);
CREATE UNIQUE INDEX blob_digest ON onrecord.blob (shard, conversation_id, digest);
CREATE INDEX blob_conversation ON onrecord.blob (conversation_id, digest);
CREATE INDEX blob_unreferenced ON onrecord.blob (stored_at) WHERE NOT referenced;

CREATE TABLE onrecord.blob_chunk (
    shard smallint NOT NULL,
    blob_id uuid NOT NULL,
    number integer NOT NULL,
    tenant uuid NOT NULL,
    data bytea NOT NULL CHECK (octet_length(data) <= 1048576),
    PRIMARY KEY (shard, blob_id, number)
);
-- What is stored is mostly compressed already, and is read whole.
ALTER TABLE onrecord.blob_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

-- For programs that use the `eventsourcing` library on this log: how far each projection got, and
-- snapshots, which are no facts and may be thrown away.
CREATE TABLE onrecord.tracking (
    recorder text NOT NULL,
    application text NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (recorder, application)
);
CREATE TABLE onrecord.snapshot (
    tenant uuid NOT NULL,
    conversation_id uuid NOT NULL,
    version bigint NOT NULL,
    type text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, conversation_id, version)
);

-- Immutable: nothing changes an event but its erasure, which takes salt, body and once-name away.
CREATE FUNCTION onrecord.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    erased onrecord.event;
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('onrecord.erasing', true) = 'on' THEN
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
        HINT = 'onrecord.forget(conversation) erases what a conversation says.';
END $$;
CREATE TRIGGER event_is_immutable BEFORE UPDATE OR DELETE ON onrecord.event
    FOR EACH ROW EXECUTE FUNCTION onrecord.refuse_change();
CREATE TRIGGER event_is_kept BEFORE TRUNCATE ON onrecord.event
    FOR EACH STATEMENT EXECUTE FUNCTION onrecord.refuse_change();

INSERT INTO onrecord.meta (key, place)
VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'), '');
