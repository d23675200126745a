-- How it went, the digests of the documents that an event has (a JSON array), the event's own id where it
-- has some, and the labels of its conversation by their digests (a JSON object).
ALTER TABLE {log}.view_audit ADD COLUMN outcome text;
ALTER TABLE {log}.view_audit ADD COLUMN documents jsonb;
ALTER TABLE {log}.view_audit ADD COLUMN event_id uuid;
ALTER TABLE {log}.view_audit ADD COLUMN labels jsonb;
CREATE INDEX view_audit_event ON {log}.view_audit (generation, conversation_id, event_id)
    WHERE event_id IS NOT NULL;
CREATE INDEX view_audit_labels ON {log}.view_audit (generation, conversation_id, version)
    WHERE labels IS NOT NULL;
