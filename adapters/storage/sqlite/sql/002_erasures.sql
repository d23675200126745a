-- Every erasure, numbered from 1: the views, in their own file, do after it what was done here.
CREATE TABLE erasure (
  number INTEGER PRIMARY KEY,
  conversation_id BLOB NOT NULL
) STRICT;

-- Verifying counts those of each conversation.
CREATE INDEX erasure_conversation_id ON erasure (conversation_id);

PRAGMA user_version = 2;
