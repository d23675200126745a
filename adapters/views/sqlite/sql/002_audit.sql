-- The view `audit`: who did what and when, with which model or tool; nothing of what was said.
CREATE TABLE view_audit (
  generation INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  shard INTEGER NOT NULL,
  position INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  occurred_at INTEGER NOT NULL,
  actor TEXT,
  type TEXT NOT NULL,
  api TEXT,
  model TEXT,
  tool TEXT,
  erasure TEXT, -- what an operator did, a JSON object: whom, why, how much
  PRIMARY KEY (conversation_id, version, generation)
) STRICT, WITHOUT ROWID;
CREATE INDEX view_audit_position ON view_audit (generation, tenant, position);
