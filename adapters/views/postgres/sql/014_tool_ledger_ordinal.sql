-- The place of a call among those of its event: an item of a framework may hold several.
ALTER TABLE {log}.view_tool_ledger ADD COLUMN ordinal integer NOT NULL DEFAULT 0;
ALTER TABLE {log}.view_tool_ledger DROP CONSTRAINT view_tool_ledger_pkey;
ALTER TABLE {log}.view_tool_ledger ADD CONSTRAINT view_tool_ledger_pkey
    PRIMARY KEY (generation, conversation_id, version, ordinal);
DROP INDEX {log}.view_tool_ledger_position;
CREATE INDEX view_tool_ledger_position
    ON {log}.view_tool_ledger (generation, tenant, position, ordinal);
