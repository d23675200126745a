-- The view `usage`: tokens by tenant, day, API and model, kept by part of the log and summed on read.
-- Names are compared byte by byte, as SQLite does. A row with a `request` counts nothing: it says which
-- model an open request asked, where the answer will not; its conversation is told for erasing.
CREATE TABLE onrecord.view_usage (
    generation integer NOT NULL,
    tenant uuid NOT NULL,
    day date NOT NULL,
    api text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,        -- empty: nobody named it
    shard smallint NOT NULL,
    part smallint NOT NULL,
    request text COLLATE "C" NOT NULL,      -- empty in sums
    conversation_id uuid,
    responses bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX view_usage_day
    ON onrecord.view_usage (generation, tenant, day DESC, api, model, shard, part, request);
CREATE INDEX view_usage_request ON onrecord.view_usage (request, generation) WHERE request <> '';
CREATE INDEX view_usage_conversation ON onrecord.view_usage (conversation_id)
    WHERE conversation_id IS NOT NULL;

-- Sums say nothing of what was said.
CREATE FUNCTION onrecord.forget_in_view_usage(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    DELETE FROM onrecord.view_usage AS v WHERE v.conversation_id = of_conversation;
END;
REVOKE ALL ON FUNCTION onrecord.forget_in_view_usage(uuid) FROM PUBLIC;

ALTER TABLE onrecord.view_usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON onrecord.view_usage
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
SELECT onrecord.renew_admissions();
