-- The views of a SQLite log, in a file of their own beside it.
--
-- They are caught up when they are read: the log is read on from a view's checkpoint, and rows and
-- checkpoint change in one transaction. Whoever catches up holds the turn of this file, so there are
-- neither parts nor leases; shard and part are 0. A generation is a build of a view: the live one is
-- read, the next one is made beside it. A view's table is view_<name>; ids are text. The log counts
-- its erasures: those after meta.erasures are done here before anything else is.

PRAGMA application_id = 0x4f4e5256; -- "ONRV"

-- The steps that made this file (adapters/storage/queries.py), each with the digest of its SQL.
CREATE TABLE migration (
  number INTEGER PRIMARY KEY,
  digest BLOB NOT NULL
) STRICT;

CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  incarnation TEXT NOT NULL, -- of the log that it was folded from: of another one, it starts anew
  migrations INTEGER NOT NULL, -- how many were applied
  erasures INTEGER NOT NULL DEFAULT 0,
  unemptied INTEGER NOT NULL DEFAULT 0, -- whether the write-ahead log may hold what was erased
  residue INTEGER NOT NULL DEFAULT 0 -- whether the free space of pages may
) STRICT;

CREATE TABLE view (
  name TEXT PRIMARY KEY,
  paused INTEGER NOT NULL DEFAULT 0,
  stopped TEXT,
  resumed_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE generation (
  view TEXT NOT NULL,
  number INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('building', 'live', 'retired')),
  began_at INTEGER NOT NULL,
  switched_at INTEGER,
  position INTEGER NOT NULL DEFAULT 0, -- the checkpoint
  PRIMARY KEY (view, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE parked (
  view TEXT NOT NULL,
  generation INTEGER NOT NULL,
  conversation_id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  position INTEGER NOT NULL,
  version INTEGER NOT NULL,
  type TEXT NOT NULL,
  kind TEXT NOT NULL,
  error TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  parked_at INTEGER NOT NULL,
  retry_at INTEGER, -- null waits for a person
  PRIMARY KEY (view, generation, conversation_id)
) STRICT, WITHOUT ROWID;
