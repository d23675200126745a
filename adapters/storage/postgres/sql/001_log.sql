-- The log on PostgreSQL.
--
-- One table matters: {log}.event holds what happened, a row an event, and nothing ever changes
-- there. Everything else exists to write it fast, to find things in it, or to take content back.
--
-- ORDER. Every tenant lives in one shard, for ever (its row in {log}.tenant says which); a shard
-- is a sequence of events with positions 1, 2, 3 ... in the order of their commits. {log}.append
-- gets that order from a lock a shard, held until its commit: take the lock, read the
-- last position, insert behind it. So a reader that has seen position n has seen all before it,
-- there is no sequence that could leave gaps, no counter row that could bloat, and no lock on the
-- table that VACUUM would wait for. Every key begins with the shard, so that shards can move to
-- servers of their own one day. Nothing here NOTIFYs: that would put all commits in one queue.
--
-- WRITING is one call, {log}.append(...): requests go in, each for one conversation and each
-- all-or-nothing, and a row comes out for each, its verdict. A conflict is a verdict too, never an
-- exception, so it costs the requests beside it nothing. The function computes what the log commits
-- to (docs/format.md): digest = SHA-256(salt || body), leaf = SHA-256(0x00 || header || version ||
-- position || recorded_at || digest), and moves the conversation's head by the rule that is written
-- down in domain/head.py. It commits synchronously, whatever the role's default is, and runs in
-- READ COMMITTED only: an older snapshot would not see the last position.
--
-- ERASING. {log}.forget(...) sets the bodies, salts and once-names of a conversation to null and
-- deletes its blobs and its key; from then on it takes nothing any more. Headers, digests and leaves stay, so that what remains can still
-- be proven. Triggers refuse any other UPDATE, and every DELETE and TRUNCATE, to everyone.
--
-- ROLES. Whoever migrates owns everything here. What else logs in is another role, let in by the owner
-- as one kind (rights.sql): SELECT {log}.admit('app') or, bound to one tenant,
-- SELECT {log}.admit('app', '0190...'). Nobody writes to the tables of the log but by the functions.
-- A role that is bound to a tenant sees that tenant's rows only (row-level security) and writes for it
-- only (the functions check each row). A role that is not bound works for every tenant: then keeping
-- tenants apart is its own task. All goes by session_user, the role that logged in: SET ROLE does not
-- change it, and who is only a member of a role that was let in is nobody here.
--
-- NAMES. Conversation keys and once-names come as keyed digests (HMAC-SHA-256 with meta.key, cut to
-- 16 bytes). Ids of calls are bytes, for JSON allows text that PostgreSQL does not.

-- What made this schema (adapters/storage/queries.py): the steps of its tables, each once and for all,
-- and the revisions of what is replaced as a whole, of which the last one is in force.
CREATE TABLE {log}.migration (
    part text NOT NULL CHECK (part IN ('tables', 'functions')),
    number integer NOT NULL,                -- of the step, or the functions' revision
    digest bytea NOT NULL,                  -- of the SQL, before the schema's name is filled in
    applied_at bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    PRIMARY KEY (part, number)
);

-- One row. The incarnation is in every cursor; it is renewed when the log is found on another
-- server, database or timeline than before (see {log}.incarnation). No role but the owner reads it:
-- {log}.identity() tells each what it may know.
CREATE TABLE {log}.meta (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    key bytea NOT NULL,                     -- of names
    seal bytea NOT NULL,                    -- of what is kept beside the log, in Redis
    shards smallint NOT NULL DEFAULT 8 CHECK (shards > 0),
    parts smallint NOT NULL DEFAULT 4 CHECK (parts > 0), -- of a shard, for workers
    incarnation uuid NOT NULL DEFAULT gen_random_uuid(),
    place text NOT NULL,
    -- How many erasures came before all tables were written anew: what later ones erased is still in
    -- pages of the tables' files.
    written_anew bigint NOT NULL DEFAULT 0
);

-- What people did to the store of a tenant, its operators' stream, is a tenant by itself, in the
-- shard of the other: its id follows from that one's (domain/erasures.py).
CREATE TABLE {log}.tenant (
    tenant uuid PRIMARY KEY,
    shard smallint NOT NULL,
    operators uuid NOT NULL UNIQUE,         -- the tenant that is its operators' stream
    operators_of uuid UNIQUE                -- the tenant whose operators' stream it is
);

-- A row a shard: who appends to it holds the row until its commit. Nothing is ever written there but
-- that, so no row has two versions. Other roles than the owner have the right to read it only, so that nobody
-- holds a row but by the functions: an advisory lock is anybody's who may connect.
CREATE TABLE {log}.shard_lock (shard smallint PRIMARY KEY);

-- Roles that were let in: as what, and to which tenant each is bound, null to none.
CREATE TABLE {log}.caller (
    role name PRIMARY KEY,
    kind text NOT NULL CHECK (
        kind IN ('runtime', 'worker', 'operator', 'eraser', 'auditor', 'sealer')),
    tenant uuid
);

-- No CHECKs: {log}.append computes what stands here, and each would cost every append its time.
CREATE TABLE {log}.event (
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
CREATE UNIQUE INDEX event_version ON {log}.event (shard, conversation_id, version);
CREATE UNIQUE INDEX event_id ON {log}.event (shard, tenant, event_id);
CREATE UNIQUE INDEX event_once ON {log}.event (shard, conversation_id, once)
    WHERE once IS NOT NULL;
CREATE INDEX event_exchange ON {log}.event (shard, conversation_id, exchange)
    WHERE opens_exchange;
CREATE INDEX event_pointer ON {log}.event (shard, conversation_id, pointer, version)
    WHERE pointer IS NOT NULL;

-- Where each conversation stands (domain/head.py), written with the events and folded from them;
-- only `forgotten` is not. Who stores a blob holds its row FOR KEY SHARE, which no append waits for.
-- No index holds a column that an append changes, but for `closed`, which changes once: its UPDATE stays
-- within the page. An id is one conversation's in the whole log, whatever the shards of its tenants.
CREATE TABLE {log}.conversation_head (
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
CREATE UNIQUE INDEX conversation_head_id ON {log}.conversation_head (conversation_id) INCLUDE (shard);
CREATE INDEX conversation_head_tenant ON {log}.conversation_head (tenant, closed);

CREATE TABLE {log}.conversation_key (
    shard smallint NOT NULL,
    tenant uuid NOT NULL,
    key bytea NOT NULL CHECK (octet_length(key) = 16),
    conversation_id uuid NOT NULL,
    PRIMARY KEY (shard, tenant, key)
);
CREATE INDEX conversation_key_id ON {log}.conversation_key (conversation_id);

-- Large bytes, in chunks of at most 1 MiB. A blob whose digest is null is still coming in.
CREATE TABLE {log}.blob (
    shard smallint NOT NULL,
    conversation_id uuid NOT NULL,
    blob_id uuid NOT NULL,
    tenant uuid NOT NULL,
    digest bytea,
    size bigint NOT NULL DEFAULT 0,
    referenced boolean NOT NULL DEFAULT false,
    stored_at bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    PRIMARY KEY (shard, conversation_id, blob_id)
);
CREATE UNIQUE INDEX blob_digest ON {log}.blob (shard, conversation_id, digest);
CREATE INDEX blob_conversation ON {log}.blob (conversation_id, digest);
CREATE INDEX blob_unreferenced ON {log}.blob (stored_at) WHERE NOT referenced;

CREATE TABLE {log}.blob_chunk (
    shard smallint NOT NULL,
    blob_id uuid NOT NULL,
    number integer NOT NULL,
    tenant uuid NOT NULL,
    data bytea NOT NULL CHECK (octet_length(data) <= 1048576),
    PRIMARY KEY (shard, blob_id, number)
);

-- For programs that use the `eventsourcing` library on this log: how far each projection got, and
-- snapshots, which are no facts and may be thrown away.
CREATE TABLE {log}.tracking (
    tenant uuid NOT NULL,                   -- the application that follows is a tenant
    recorder text NOT NULL,
    application text NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (tenant, recorder, application)
);
CREATE TABLE {log}.snapshot (
    tenant uuid NOT NULL,
    conversation_id uuid NOT NULL,
    version bigint NOT NULL,
    type text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, conversation_id, version)
);

-- An event as its writer hands it in. `effect` is bits: 1 prompts, 2 gives up, 4 closes, 8 opens a
-- call, 16 closes a call (`call` names it), 32 instructions, 64 tools, 128 request,
-- 256 adopted, 512 amended; and what it needs of its conversation (domain/admission.py): 1024 not to
-- have begun, 2048 to be new, 4096 not to be closed.
CREATE TYPE {log}.new_event AS (
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
CREATE TYPE {log}.request AS (
    tenant uuid,
    conversation_id uuid,
    expected bigint,
    events {log}.new_event[],
    blobs bytea[]
);

-- Requests of a batch that are recorded together, by their places in it: of one shard, one behind the
-- other, each about a conversation of its own.
CREATE TYPE {log}.cohort AS (shard smallint, places integer[]);

INSERT INTO {log}.meta (key, seal, place)
VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
    decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'), '');
INSERT INTO {log}.shard_lock SELECT generate_series(0, m.shards - 1) FROM {log}.meta AS m;
