-- Every erasure, numbered from 1: the views, in their own file, do after it what was done here.
CREATE TABLE erasure (
  number INTEGER PRIMARY KEY,
  conversation_id BLOB NOT NULL
) STRICT;

PRAGMA user_version = 2;
