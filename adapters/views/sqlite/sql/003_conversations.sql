-- The view `conversations`: a row a conversation, for lists of them. Lists of names are JSON arrays.
CREATE TABLE view_conversations (
  generation INTEGER NOT NULL,
  conversation_id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  shard INTEGER NOT NULL,
  last_position INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  key TEXT,
  title TEXT,
  title_version INTEGER, -- of the prompt that the title is of, redacted or not
  origin TEXT,
  closed INTEGER NOT NULL,
  exchanges INTEGER NOT NULL,
  user_messages INTEGER NOT NULL,
  assistant_messages INTEGER NOT NULL,
  system_messages INTEGER NOT NULL,
  tool_calls INTEGER NOT NULL,
  server_tool_calls INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  responses INTEGER NOT NULL,
  interrupted INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  participants TEXT NOT NULL,
  providers TEXT NOT NULL,
  models TEXT NOT NULL,
  PRIMARY KEY (conversation_id, generation)
) STRICT, WITHOUT ROWID;
CREATE INDEX view_conversations_last ON view_conversations (generation, tenant, last_position);
