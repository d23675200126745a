-- The rows of projections that programs bring, which fold purely: each has the projection's name.
--
-- A row belongs to a conversation and has a name that is unique in it. `value` is a JSON object.
CREATE TABLE view_own (
  view TEXT NOT NULL,
  generation INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL, -- JSON
  PRIMARY KEY (conversation_id, view, generation, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX view_own_page ON view_own (view, generation, tenant, name, conversation_id);
