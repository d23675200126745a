-- The view `usage`: tokens by tenant, day, API and model. A row with a `request` counts nothing: it says
-- which model an open request asked, where the answer will not; its conversation is told for erasing.
CREATE TABLE view_usage (
  generation INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  day TEXT NOT NULL, -- as 2026-11-21
  api TEXT NOT NULL,
  model TEXT NOT NULL, -- empty: nobody named it
  shard INTEGER NOT NULL,
  part INTEGER NOT NULL,
  request TEXT NOT NULL, -- empty in sums
  conversation_id TEXT,
  responses INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  PRIMARY KEY (generation, tenant, day DESC, api, model, shard, part, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX view_usage_request ON view_usage (request, generation) WHERE request <> '';
CREATE INDEX view_usage_conversation ON view_usage (conversation_id) WHERE conversation_id IS NOT NULL;
