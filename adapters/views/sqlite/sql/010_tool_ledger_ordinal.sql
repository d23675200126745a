-- The place of a call among those of its event: an item of a framework may hold several.
CREATE TABLE tool_ledger_next (
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
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (generation, conversation_id, version, ordinal)
) STRICT, WITHOUT ROWID;
INSERT INTO tool_ledger_next SELECT *, 0 FROM view_tool_ledger;
DROP TABLE view_tool_ledger;
ALTER TABLE tool_ledger_next RENAME TO view_tool_ledger;
CREATE INDEX view_tool_ledger_position
  ON view_tool_ledger (generation, tenant, position, ordinal);
CREATE INDEX view_tool_ledger_call
  ON view_tool_ledger (generation, conversation_id, call_id, version) WHERE kind = 'tool';
CREATE INDEX view_tool_ledger_response
  ON view_tool_ledger (generation, conversation_id, response, call_id) WHERE response IS NOT NULL;
CREATE INDEX view_tool_ledger_result
  ON view_tool_ledger (generation, conversation_id, result_version)
  WHERE result_version IS NOT NULL;
CREATE INDEX view_tool_ledger_waiting ON view_tool_ledger (generation, conversation_id)
  WHERE kind = 'server tool' AND status = 'open';
