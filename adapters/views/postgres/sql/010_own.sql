-- The rows of projections that programs bring, which fold purely: each has the projection's name.
--
-- A row belongs to a conversation and has a name that is unique in it. Names are in the order of their
-- characters, as on SQLite.
CREATE TABLE {log}.view_own (
    view text NOT NULL,
    generation integer NOT NULL,
    tenant uuid NOT NULL,
    conversation_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    value jsonb NOT NULL,
    PRIMARY KEY (conversation_id, view, generation, name)
);
CREATE INDEX view_own_page ON {log}.view_own (view, generation, tenant, name, conversation_id);
