-- The view `conversations`.

-- name: conversations_known
-- $1 generation, $2 the keys as a JSON array.
SELECT to_jsonb(v) FROM jsonb_to_recordset($2::jsonb) AS k (conversation_id uuid)
JOIN {log}.view_conversations AS v
    ON v.generation = $1 AND v.conversation_id = k.conversation_id

-- name: conversations_put
-- $1 generation, $2 the rows as a JSON array, whole; $3 shard, $4 part: it does not keep rows by part.
INSERT INTO {log}.view_conversations
SELECT $1, r.*
FROM jsonb_to_recordset($2::jsonb) AS r (conversation_id uuid, tenant uuid, shard smallint,
    last_position bigint, last_at bigint, started_at bigint, version bigint, key text, title text,
    title_version bigint, origin uuid, closed boolean, exchanges bigint, user_messages bigint,
    assistant_messages bigint, system_messages bigint, tool_calls bigint, server_tool_calls bigint,
    documents bigint, responses bigint, interrupted bigint, failed bigint, input_tokens bigint,
    output_tokens bigint, participants text[], providers text[], models text[])
WHERE $3::smallint IS NOT NULL AND $4::smallint IS NOT NULL
ON CONFLICT (conversation_id, generation) DO UPDATE
SET last_position = excluded.last_position, last_at = excluded.last_at, version = excluded.version,
    key = excluded.key, title = excluded.title, title_version = excluded.title_version,
    origin = excluded.origin, closed = excluded.closed, exchanges = excluded.exchanges,
    user_messages = excluded.user_messages, assistant_messages = excluded.assistant_messages,
    system_messages = excluded.system_messages, tool_calls = excluded.tool_calls,
    server_tool_calls = excluded.server_tool_calls, documents = excluded.documents,
    responses = excluded.responses, interrupted = excluded.interrupted, failed = excluded.failed,
    input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
    participants = excluded.participants, providers = excluded.providers, models = excluded.models

-- name: conversations_drop
-- No row of it is ever dropped by a fold.
DELETE FROM {log}.view_conversations AS v
USING jsonb_to_recordset($2::jsonb) AS k (conversation_id uuid)
WHERE v.generation = $1 AND v.conversation_id = k.conversation_id

-- name: conversations_sweep
-- Rows of a retired generation, $2 at most: it is done when none went. The order is that of an index: a scan
-- of the table would go over all those that went before.
DELETE FROM {log}.view_conversations AS v WHERE v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM {log}.view_conversations AS w WHERE w.generation = $1
    ORDER BY w.tenant, w.last_position LIMIT $2))

-- name: conversations_page
-- $1 generation, $2 tenant, $3 the filters and $4 the key after which it goes on, JSON objects, $5 limit.
SELECT to_jsonb(v) - 'generation' FROM {log}.view_conversations AS v
WHERE v.generation = $1 AND v.tenant = $2
    AND v.last_position < coalesce(($4::jsonb ->> 'last_position')::bigint, 9223372036854775807)
    AND ($3::jsonb ->> 'conversation_id' IS NULL
        OR v.conversation_id = ($3::jsonb ->> 'conversation_id')::uuid)
    AND ($3::jsonb ->> 'key' IS NULL OR v.key = $3::jsonb ->> 'key')
    AND ($3::jsonb ->> 'closed' IS NULL OR v.closed = ($3::jsonb ->> 'closed')::boolean)
    AND ($3::jsonb ->> 'actor' IS NULL OR $3::jsonb ->> 'actor' = ANY (v.participants))
    AND ($3::jsonb ->> 'provider' IS NULL OR $3::jsonb ->> 'provider' = ANY (v.providers))
    AND ($3::jsonb ->> 'model' IS NULL OR $3::jsonb ->> 'model' = ANY (v.models))
    AND v.last_at >= coalesce(($3::jsonb ->> 'since')::bigint, 0)
    AND v.last_at < coalesce(($3::jsonb ->> 'until')::bigint, 9223372036854775807)
ORDER BY v.last_position DESC LIMIT $5
