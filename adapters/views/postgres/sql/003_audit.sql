-- The view `audit`: who did what and when, with which model or tool; nothing of what was said.
CREATE TABLE {log}.view_audit (
    generation integer NOT NULL,
    tenant uuid NOT NULL,
    conversation_id uuid NOT NULL,
    version bigint NOT NULL,
    shard smallint NOT NULL,
    position bigint NOT NULL,
    recorded_at bigint NOT NULL,
    occurred_at bigint NOT NULL,
    actor text,
    type text NOT NULL,
    api text,
    model text,
    tool text,
    erasure jsonb,                          -- what an operator did: whom, why, how much
    PRIMARY KEY (conversation_id, version, generation)
);
-- A tenant is in one shard, so its events are in order of position.
CREATE INDEX view_audit_position ON {log}.view_audit (generation, tenant, position);
