-- The view `conversations`: a row a conversation, for lists of them.
CREATE TABLE {log}.view_conversations (
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
    ON {log}.view_conversations (generation, tenant, last_position);
