-- The wrapped keys of the subjects of one log, in a file of their own.
--
-- `subject` is the keyed digest of who the key is of. A key that was destroyed has neither that nor
-- `wrapped`: what is left says that it was there, and when it went. `generation` is the one it was
-- wrapped under last, so that an erasure is known to be unfinished until that generation is retired.
-- Times are microseconds since 1970-01-01 UTC.

PRAGMA application_id = 0x4f4e524b; -- "ONRK"
PRAGMA user_version = 1;

-- The steps that made this file (adapters/storage/queries.py), each with the digest of its SQL.
CREATE TABLE migration (
  number INTEGER PRIMARY KEY,
  digest BLOB NOT NULL
) STRICT;

CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  log BLOB NOT NULL, -- the id of the log whose keys these are
  residue INTEGER NOT NULL DEFAULT 0 -- file or write-ahead log may hold what was destroyed or replaced
) STRICT;

CREATE TABLE generation (
  name TEXT PRIMARY KEY,
  is_closed INTEGER NOT NULL DEFAULT 0,
  retired_at INTEGER,
  undoable_until INTEGER -- until when its owner's KMS can bring it back; NULL: nobody can
) STRICT;

CREATE TABLE subject_key (
  key_id TEXT PRIMARY KEY,
  subject BLOB UNIQUE,
  generation TEXT NOT NULL REFERENCES generation (name),
  wrapped BLOB,
  created_at INTEGER NOT NULL,
  destroyed_at INTEGER,
  CHECK ((wrapped IS NULL) = (destroyed_at IS NOT NULL)),
  CHECK ((wrapped IS NULL) = (subject IS NULL))
) STRICT;

CREATE INDEX subject_key_generation ON subject_key (generation);
