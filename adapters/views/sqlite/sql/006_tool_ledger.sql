-- The view `tool_ledger`: a row a call of a tool, with its result. Row 0 of a conversation keeps the
-- names that models were told in place of the caller's own, in `metadata`, and is no call.
CREATE TABLE view_tool_ledger (
  generation INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  shard INTEGER NOT NULL,
  position INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  line TEXT,
  call_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT,
  response TEXT,
  model TEXT,
  arguments TEXT,
  arguments_cut INTEGER NOT NULL,
  arguments_digest TEXT,
  status TEXT NOT NULL,
  is_error INTEGER NOT NULL,
  result_version INTEGER,
  result TEXT,
  result_cut INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  duration INTEGER,
  metadata TEXT NOT NULL, -- a JSON object
  is_redacted INTEGER NOT NULL,
  PRIMARY KEY (generation, conversation_id, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX view_tool_ledger_position ON view_tool_ledger (generation, tenant, position);
-- Which call a result is of, and which calls a response made.
CREATE INDEX view_tool_ledger_call
  ON view_tool_ledger (generation, conversation_id, call_id, version) WHERE kind = 'tool';
CREATE INDEX view_tool_ledger_response
  ON view_tool_ledger (generation, conversation_id, response, call_id) WHERE response IS NOT NULL;
CREATE INDEX view_tool_ledger_result
  ON view_tool_ledger (generation, conversation_id, result_version)
  WHERE result_version IS NOT NULL;
CREATE INDEX view_tool_ledger_waiting ON view_tool_ledger (generation, conversation_id)
  WHERE kind = 'server tool' AND status = 'open';
