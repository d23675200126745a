-- The names of those who act, whose keyed digests stand in the headers of events. `actor_id` is what a name
-- is erased by, as a conversation is by its id (domain/erasures.py); it is the tenant's own, as its names are.
CREATE TABLE actor_name (
  tenant BLOB NOT NULL,
  digest BLOB NOT NULL,
  actor_id BLOB NOT NULL,
  name BLOB NOT NULL, -- UTF-8
  PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX actor_name_actor_id ON actor_name (actor_id);

PRAGMA user_version = 3;
