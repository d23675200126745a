-- The view `tool_ledger`: a row a call of a tool, with its result. Row 0 of a conversation keeps the
-- names that models were told in place of the caller's own, in `metadata`, and is no call.
CREATE TABLE {log}.view_tool_ledger (
    generation integer NOT NULL,
    tenant uuid NOT NULL,
    conversation_id uuid NOT NULL,
    version bigint NOT NULL,
    shard smallint NOT NULL,
    position bigint NOT NULL,
    recorded_at bigint NOT NULL,
    line uuid,
    call_id text NOT NULL,
    kind text NOT NULL,
    name text,
    response uuid,
    model text,
    arguments text,
    arguments_cut boolean NOT NULL,
    arguments_digest text,
    status text NOT NULL,
    is_error boolean NOT NULL,
    result_version bigint,
    result text,
    result_cut boolean NOT NULL,
    documents integer NOT NULL,
    duration bigint,
    metadata jsonb NOT NULL,
    is_redacted boolean NOT NULL,
    PRIMARY KEY (generation, conversation_id, version)
);
CREATE INDEX view_tool_ledger_position ON {log}.view_tool_ledger (generation, tenant, position);
-- Which call a result is of, and which calls a response made. Were it not partial, a row would be looked
-- for by its version in the first one, among all calls of its conversation.
CREATE INDEX view_tool_ledger_call
    ON {log}.view_tool_ledger (generation, conversation_id, call_id, version) WHERE kind = 'tool';
CREATE INDEX view_tool_ledger_response
    ON {log}.view_tool_ledger (generation, conversation_id, response, call_id)
    WHERE response IS NOT NULL;
CREATE INDEX view_tool_ledger_result
    ON {log}.view_tool_ledger (generation, conversation_id, result_version)
    WHERE result_version IS NOT NULL;
CREATE INDEX view_tool_ledger_waiting ON {log}.view_tool_ledger (generation, conversation_id)
    WHERE kind = 'server tool' AND status = 'open';
