-- The view `tool_ledger`: 007_tool_ledger.sql and 014_tool_ledger_ordinal.sql explain it.

-- name: tool_ledger_known
-- $1 generation, $2 keys as a JSON array: `at` are the rows of an event; `version` those, and those with the
-- last results up to there; `call_id` the last call of that id, on the line and at all, and those of the same response;
-- `response` the calls that it made; `waits` the calls of providers' tools that have no result yet.
SELECT DISTINCT ON (v.conversation_id, v.version, v.ordinal) to_jsonb(v)
FROM jsonb_to_recordset($2::jsonb) AS k (conversation_id uuid, at bigint, version bigint,
    call_id text, line uuid, response uuid, waits boolean)
CROSS JOIN LATERAL (
    SELECT a.* FROM {log}.view_tool_ledger AS a
    WHERE a.generation = $1 AND a.conversation_id = k.conversation_id
        AND a.version = coalesce(k.at, k.version)
    UNION ALL
    (SELECT b.* FROM {log}.view_tool_ledger AS b
    WHERE b.generation = $1 AND b.conversation_id = k.conversation_id
        AND b.result_version <= k.version
    ORDER BY b.result_version DESC FETCH FIRST 1 ROW WITH TIES)
    UNION ALL
    SELECT d.* FROM (
        (SELECT l.* FROM {log}.view_tool_ledger AS l
        WHERE l.generation = $1 AND l.conversation_id = k.conversation_id
            AND l.call_id = k.call_id AND l.kind = 'tool'
            AND l.result_version IS DISTINCT FROM l.version
        ORDER BY l.version DESC FETCH FIRST 1 ROW WITH TIES)
        UNION ALL
        (SELECT l.* FROM {log}.view_tool_ledger AS l
        WHERE l.generation = $1 AND l.conversation_id = k.conversation_id
            AND l.call_id = k.call_id AND l.kind = 'tool'
            AND l.result_version IS DISTINCT FROM l.version
            AND l.line IS NOT DISTINCT FROM k.line
        ORDER BY l.version DESC FETCH FIRST 1 ROW WITH TIES)
    ) AS last
    CROSS JOIN LATERAL (
        SELECT last.*
        UNION ALL
        SELECT alike.* FROM {log}.view_tool_ledger AS alike
        WHERE alike.generation = $1 AND alike.conversation_id = k.conversation_id
            AND alike.response = last.response AND alike.call_id = k.call_id
    ) AS d
    UNION ALL
    SELECT e.* FROM {log}.view_tool_ledger AS e
    WHERE e.generation = $1 AND e.conversation_id = k.conversation_id AND e.response = k.response
    UNION ALL
    SELECT f.* FROM {log}.view_tool_ledger AS f
    WHERE k.waits AND f.generation = $1 AND f.conversation_id = k.conversation_id
        AND f.kind = 'server tool' AND f.status = 'open'
) AS v

-- name: tool_ledger_put
-- $1 generation, $2 the rows as a JSON array, $3 shard, $4 part: for views that keep their rows so.
INSERT INTO {log}.view_tool_ledger
SELECT $1,
    r.tenant, r.conversation_id, r.version, r.shard, r.position, r.recorded_at, r.line, r.call_id,
    r.kind, r.name, r.response, r.model, r.arguments, r.arguments_cut, r.arguments_digest, r.status,
    r.is_error, r.result_version, r.result, r.result_cut, r.documents, r.duration, r.metadata,
    r.is_redacted, r.ordinal
FROM jsonb_to_recordset($2::jsonb) AS r (
    tenant uuid, conversation_id uuid, version bigint, shard smallint, position bigint, recorded_at
    bigint, line uuid, call_id text, kind text, name text, response uuid, model text, arguments
    text, arguments_cut boolean, arguments_digest text, status text, is_error boolean,
    result_version bigint, result text, result_cut boolean, documents integer, duration bigint,
    metadata jsonb, is_redacted boolean, ordinal integer)
WHERE $3::smallint IS NOT NULL AND $4::smallint IS NOT NULL
ON CONFLICT (generation, conversation_id, version, ordinal) DO UPDATE
SET
    name = excluded.name, model = excluded.model, arguments = excluded.arguments, arguments_cut =
    excluded.arguments_cut, arguments_digest = excluded.arguments_digest, status = excluded.status,
    is_error = excluded.is_error, result_version = excluded.result_version, result =
    excluded.result, result_cut = excluded.result_cut, documents = excluded.documents, duration =
    excluded.duration, metadata = excluded.metadata, is_redacted = excluded.is_redacted

-- name: tool_ledger_drop
-- No row of it is ever dropped.
DELETE FROM {log}.view_tool_ledger AS v USING jsonb_to_recordset($2::jsonb) AS k (
    conversation_id uuid, version bigint)
WHERE v.generation = $1 AND v.conversation_id = k.conversation_id AND v.version = k.version

-- name: tool_ledger_sweep
-- Rows of a retired generation, $2 at most: it is done when none went. In the order of an index, since a
-- scan of the table would go over all those that went before.
DELETE FROM {log}.view_tool_ledger AS v WHERE v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM {log}.view_tool_ledger AS w WHERE w.generation = $1
    ORDER BY w.tenant, w.position LIMIT $2))

-- name: tool_ledger_page
-- $1 generation, $2 tenant, $3 the filters and $4 the key after which it goes on, JSON objects, $5 limit.
SELECT to_jsonb(v) - 'generation' - 'is_redacted' FROM {log}.view_tool_ledger AS v
WHERE v.generation = $1 AND v.tenant = $2 AND v.version > 0
    AND (v.position, v.ordinal) < (
        coalesce(($4::jsonb ->> 'position')::bigint, 9223372036854775807),
        coalesce(($4::jsonb ->> 'ordinal')::integer, 0))
    AND ($3::jsonb ->> 'conversation_id' IS NULL
        OR v.conversation_id = ($3::jsonb ->> 'conversation_id')::uuid)
    AND ($3::jsonb ->> 'name' IS NULL OR v.name = $3::jsonb ->> 'name')
    AND ($3::jsonb ->> 'kind' IS NULL OR v.kind = $3::jsonb ->> 'kind')
    AND ($3::jsonb ->> 'status' IS NULL OR v.status = $3::jsonb ->> 'status')
    AND ($3::jsonb ->> 'arguments_digest' IS NULL
        OR v.arguments_digest = $3::jsonb ->> 'arguments_digest')
    AND v.recorded_at >= coalesce(($3::jsonb ->> 'since')::bigint, 0)
    AND v.recorded_at < coalesce(($3::jsonb ->> 'until')::bigint, 9223372036854775807)
ORDER BY v.position DESC, v.ordinal DESC LIMIT $5
