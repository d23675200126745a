-- The view `audit`: who did what and when, with which model or tool; nothing of what was said.
CREATE TABLE onrecord.view_audit (
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
    PRIMARY KEY (conversation_id, version, generation)
);
-- A tenant is in one shard, so its events are in order of position.
CREATE INDEX view_audit_position ON onrecord.view_audit (generation, tenant, position);

-- Of a conversation that was erased, that something was done stays.
CREATE FUNCTION onrecord.forget_in_view_audit(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    UPDATE onrecord.view_audit AS v SET api = NULL, model = NULL, tool = NULL
    WHERE v.conversation_id = of_conversation;
END;
REVOKE ALL ON FUNCTION onrecord.forget_in_view_audit(uuid) FROM PUBLIC;

ALTER TABLE onrecord.view_audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON onrecord.view_audit
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
SELECT onrecord.renew_admissions();
