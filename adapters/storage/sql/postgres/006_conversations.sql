-- The view `conversations`: a row a conversation, for lists of them.
CREATE TABLE onrecord.view_conversations (
    generation integer NOT NULL,
    conversation_id uuid NOT NULL,
    tenant uuid NOT NULL,
    shard smallint NOT NULL,
    last_position bigint NOT NULL,
    last_at bigint NOT NULL,
    started_at bigint NOT NULL,
    version bigint NOT NULL,
    key text,
    title text,
    title_version bigint,                   -- of the prompt that the title is of, redacted or not
    origin uuid,
    closed boolean NOT NULL,
    exchanges bigint NOT NULL,
    user_messages bigint NOT NULL,
    assistant_messages bigint NOT NULL,
    system_messages bigint NOT NULL,
    tool_calls bigint NOT NULL,
    server_tool_calls bigint NOT NULL,
    documents bigint NOT NULL,
    responses bigint NOT NULL,
    interrupted bigint NOT NULL,
    failed bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    participants text[] NOT NULL,
    providers text[] NOT NULL,
    models text[] NOT NULL,
    PRIMARY KEY (conversation_id, generation)
);
-- A tenant is in one shard, so its conversations are in order of their last position.
CREATE INDEX view_conversations_last
    ON onrecord.view_conversations (generation, tenant, last_position);

CREATE FUNCTION onrecord.forget_in_view_conversations(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    DELETE FROM onrecord.view_conversations AS v WHERE v.conversation_id = of_conversation;
END;
REVOKE ALL ON FUNCTION onrecord.forget_in_view_conversations(uuid) FROM PUBLIC;

ALTER TABLE onrecord.view_conversations ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON onrecord.view_conversations
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
SELECT onrecord.renew_admissions();
