-- Views: what is folded of the log and kept, who keeps it up to date, and what erasure does to it.
--
-- PARTS. A shard is divided by conversation (the last byte of its id) into meta.parts parts. A worker
-- leases parts: {log}.part says whose a part is and until when, by the server's clock; its epoch
-- rises with each change of hands. How far a build of a view has come in a part is its checkpoint,
-- and its rows and its checkpoint change in one transaction: the UPDATE names the position that the
-- worker began at and the epoch of its lease, and changes no row if either is another by now.
--
-- GENERATIONS. Every row of a view belongs to a generation of it. One is live: it is what is read. A
-- rebuild makes the next one beside it from position 1 on; when it has caught up they are switched.
--
-- ERASING. {log}.forget takes what it erases out of every view in its own transaction, and locks
-- {log}.erasure meanwhile. A worker's transaction does so in share mode before it reads
-- ({log}.hold_off_erasures): what it has read is not erased before its rows are written. A view's table is {log}.view_<name>.

-- Whom the worker feeds and why not: `stopped` says what made a view stand still, in our own words,
-- and `build_stopped` the same of what is made beside it, which costs the one that is read nothing.
CREATE TABLE {log}.view (
    name text PRIMARY KEY,
    paused boolean NOT NULL DEFAULT false,
    stopped text,
    build_stopped text,
    resumed_at bigint NOT NULL DEFAULT 0
);

CREATE TABLE {log}.generation (
    view text NOT NULL REFERENCES {log}.view,
    number integer NOT NULL,
    revision integer NOT NULL,              -- of the fold that makes its rows
    status text NOT NULL CHECK (status IN ('building', 'live', 'retired')),
    began_at bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    switched_at bigint,
    PRIMARY KEY (view, number)
);
CREATE UNIQUE INDEX generation_live ON {log}.generation (view) WHERE status = 'live';
CREATE UNIQUE INDEX generation_building ON {log}.generation (view) WHERE status = 'building';

CREATE TABLE {log}.part (
    shard smallint NOT NULL,
    part smallint NOT NULL,
    owner text,
    epoch bigint NOT NULL DEFAULT 0,
    leased_until bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (shard, part)
) WITH (fillfactor = 50);

CREATE TABLE {log}.checkpoint (
    view text NOT NULL,
    generation integer NOT NULL,
    shard smallint NOT NULL,
    part smallint NOT NULL,
    position bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (view, generation, shard, part),
    FOREIGN KEY (view, generation) REFERENCES {log}.generation ON DELETE CASCADE
) WITH (fillfactor = 50);

-- Who is at work: how many share the parts.
CREATE TABLE {log}.worker (
    name text PRIMARY KEY,
    seen_at bigint NOT NULL
);

-- An event that a view could not fold: its conversation waits behind it, in this view. Tried again at
-- `retry_at`; null waits for a person. `error` tells nothing of what was said.
CREATE TABLE {log}.parked (
    view text NOT NULL,
    generation integer NOT NULL,
    conversation_id uuid NOT NULL,
    tenant uuid NOT NULL,
    shard smallint NOT NULL,
    part smallint NOT NULL,
    position bigint NOT NULL,
    version bigint NOT NULL,
    type text NOT NULL,
    kind text NOT NULL,
    error text NOT NULL,
    attempts integer NOT NULL,
    parked_at bigint NOT NULL,
    retry_at bigint,
    PRIMARY KEY (view, generation, conversation_id),
    FOREIGN KEY (view, generation) REFERENCES {log}.generation ON DELETE CASCADE
);

-- Every {log}.forget, numbered from 1 without gaps.
CREATE TABLE {log}.erasure (
    number bigint PRIMARY KEY,
    conversation_id uuid NOT NULL,
    tenant uuid NOT NULL,
    erased_at bigint NOT NULL
);
CREATE INDEX erasure_conversation ON {log}.erasure (conversation_id);

INSERT INTO {log}.part (shard, part)
SELECT s, p FROM {log}.meta AS m,
    generate_series(0, m.shards - 1) AS s, generate_series(0, m.parts - 1) AS p;
