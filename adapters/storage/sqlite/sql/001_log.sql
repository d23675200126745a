-- An Onrecord log in one SQLite file.
--
-- `event` is the log. A row is an event: written once, in the order of `position`, never changed,
-- never deleted. `position` counts the log's events from 1 without a gap, `version` those of one
-- conversation. Three columns may be erased, and only to null: `body` (what was said), `salt`
-- (without which `digest` tells nothing about the body) and `once` (a keyed digest of a fact that
-- a conversation can hold only once). `header`, `digest` and `leaf` stay: `leaf` commits to all
-- three and to the place in the log, so the ledger verifies after an erasure as before it.
--
-- `conversation_head` says where each conversation stands; it is written with the events, in the
-- same transaction, and follows from them, but for `forgotten`. `conversation_key` maps the callers' names, as keyed
-- digests, to conversations. `blob` and `blob_piece` hold large bytes, each once in the
-- conversation that owns it; a blob without `sha256` is still arriving, or never did.
-- `tracking` and `snapshot` serve applications of the `eventsourcing` library.
--
-- An append is to touch few pages, so there is an index only for what cannot be found otherwise:
-- the order of the catalogue is made when it is asked for, and where an exchange begins is searched
-- by halves, since `exchange` never falls as `version` grows.
--
-- Ids are 16 bytes, times are microseconds since 1970-01-01 UTC, digests are keyed with
-- `meta.digest_key`. A writer takes its turn by the lock file beside this one.

PRAGMA application_id = 0x4f4e5243; -- "ONRC"
PRAGMA user_version = 1;

-- The steps that made this file (adapters/storage/queries.py), each with the digest of its SQL.
CREATE TABLE migration (
  number INTEGER PRIMARY KEY,
  digest BLOB NOT NULL
) STRICT;

CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  incarnation BLOB NOT NULL, -- another one after a copy or a restore: cursors do not survive that
  identity BLOB NOT NULL,    -- of this file and its lock file: what a copy does not share
  digest_key BLOB NOT NULL,
  unemptied INTEGER NOT NULL DEFAULT 0, -- the write-ahead log may hold what was erased
  residue INTEGER NOT NULL DEFAULT 0 -- the free space of pages may hold what was erased
) STRICT;

CREATE TABLE event (
  position INTEGER PRIMARY KEY,
  conversation_id BLOB NOT NULL,
  version INTEGER NOT NULL,
  exchange INTEGER NOT NULL,
  points TEXT, -- what the head points at since this event, if anything
  event_id BLOB NOT NULL,
  type TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  once BLOB,
  header BLOB NOT NULL,
  digest BLOB NOT NULL,
  leaf BLOB NOT NULL,
  salt BLOB,
  body BLOB
) STRICT;

CREATE UNIQUE INDEX event_version ON event (conversation_id, version);
CREATE UNIQUE INDEX event_event_id ON event (event_id);
CREATE UNIQUE INDEX event_once ON event (conversation_id, once) WHERE once IS NOT NULL;
CREATE INDEX event_points ON event (conversation_id, points, version) WHERE points IS NOT NULL;

CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
BEGIN
  SELECT RAISE(ABORT, 'events are immutable: erase a conversation with onrecord forget');
END;

CREATE TRIGGER event_is_only_erased BEFORE UPDATE ON event
WHEN NEW.body IS NOT NULL OR NEW.salt IS NOT NULL OR NEW.once IS NOT NULL
  OR (NEW.position, NEW.conversation_id, NEW.version, NEW.exchange, NEW.event_id, NEW.type,
      NEW.schema_version, NEW.recorded_at, NEW.header, NEW.digest, NEW.leaf)
  IS NOT (OLD.position, OLD.conversation_id, OLD.version, OLD.exchange, OLD.event_id, OLD.type,
      OLD.schema_version, OLD.recorded_at, OLD.header, OLD.digest, OLD.leaf)
  OR NEW.points IS NOT OLD.points
BEGIN
  SELECT RAISE(ABORT, 'events are immutable: erase a conversation with onrecord forget');
END;

-- INSERT OR REPLACE deletes without asking the trigger above, so it is refused here.
CREATE TRIGGER event_is_only_appended BEFORE INSERT ON event
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM event)
  OR EXISTS (SELECT 1 FROM event WHERE event_id = NEW.event_id)
  OR EXISTS (
    SELECT 1 FROM event WHERE conversation_id = NEW.conversation_id AND version = NEW.version)
  OR EXISTS (SELECT 1 FROM event WHERE conversation_id = NEW.conversation_id AND once = NEW.once)
BEGIN
  SELECT RAISE(ABORT, 'events are immutable: append at the end');
END;

CREATE TABLE conversation_head (
  conversation_id BLOB PRIMARY KEY,
  tenant BLOB NOT NULL,
  position INTEGER NOT NULL, -- of its last event: which conversation moved last
  started_at INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  exchange INTEGER NOT NULL,
  open_calls TEXT NOT NULL, -- a JSON object: call id to version
  instructions INTEGER NOT NULL,
  tools INTEGER NOT NULL,
  request INTEGER NOT NULL,
  adopted INTEGER NOT NULL,
  amended INTEGER NOT NULL,
  closed INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  forgotten INTEGER NOT NULL DEFAULT 0 -- it was erased, and takes nothing any more
) STRICT, WITHOUT ROWID;

CREATE INDEX conversation_head_tenant ON conversation_head (tenant);

-- Few erasures are unfinished, however many there were. An append that closes nothing leaves it alone.
CREATE INDEX conversation_head_open ON conversation_head (tenant) WHERE closed = 0;

CREATE TABLE conversation_key (
  tenant BLOB NOT NULL,
  digest BLOB NOT NULL,
  conversation_id BLOB NOT NULL,
  PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX conversation_key_conversation_id ON conversation_key (conversation_id);

CREATE TABLE blob (
  number INTEGER PRIMARY KEY,
  tenant BLOB NOT NULL,
  conversation_id BLOB NOT NULL,
  sha256 BLOB,
  stored_at INTEGER NOT NULL,
  boot TEXT, -- which start of the machine that was, and how long it had run: nobody sets that clock
  uptime INTEGER NOT NULL,
  referenced INTEGER NOT NULL DEFAULT 0,
  UNIQUE (conversation_id, sha256)
) STRICT;

CREATE INDEX blob_unreferenced ON blob (stored_at) WHERE referenced = 0;

CREATE TABLE blob_piece (
  blob INTEGER NOT NULL REFERENCES blob (number) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  data BLOB NOT NULL,
  UNIQUE (blob, ordinal)
) STRICT;

CREATE TABLE tracking (
  tenant BLOB NOT NULL,      -- the application that keeps track is a tenant
  follower TEXT NOT NULL,    -- the application that keeps track
  application TEXT NOT NULL, -- the application that it follows
  notification_id INTEGER NOT NULL,
  PRIMARY KEY (tenant, follower, application)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshot (
  originator_id BLOB NOT NULL,
  originator_version INTEGER NOT NULL,
  topic TEXT NOT NULL,
  state BLOB NOT NULL,
  PRIMARY KEY (originator_id, originator_version)
) STRICT;
