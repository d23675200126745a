-- The view `usage`: tokens by tenant, day, API and model, kept by part of the log and summed on read.
-- Names are compared byte by byte, as SQLite does. A row with a `request` counts nothing: it says which
-- model an open request asked, where the answer will not; its conversation is told for erasing.
CREATE TABLE {log}.view_usage (
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
    ON {log}.view_usage (generation, tenant, day DESC, api, model, shard, part, request);
-- It is the key, though keys have no order of their own: replication goes by it.
ALTER TABLE {log}.view_usage REPLICA IDENTITY USING INDEX view_usage_day;
CREATE INDEX view_usage_request ON {log}.view_usage (request, generation) WHERE request <> '';
CREATE INDEX view_usage_conversation ON {log}.view_usage (conversation_id)
    WHERE conversation_id IS NOT NULL;
