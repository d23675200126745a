-- How it went, the digests of the documents that an event has (a JSON array), the event's own id where it
-- has some, and the labels of its conversation by their digests (a JSON object).
ALTER TABLE view_audit ADD COLUMN outcome TEXT;
ALTER TABLE view_audit ADD COLUMN documents TEXT;
ALTER TABLE view_audit ADD COLUMN event_id TEXT;
ALTER TABLE view_audit ADD COLUMN labels TEXT;
CREATE INDEX view_audit_event ON view_audit (generation, conversation_id, event_id)
  WHERE event_id IS NOT NULL;
CREATE INDEX view_audit_labels ON view_audit (generation, conversation_id, version)
  WHERE labels IS NOT NULL;
