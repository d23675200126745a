-- The view `search`: 006_search.sql explains it.

-- name: search_known
-- $1 generation, $2 keys as a JSON array: by version, a row, the results of that call, and the result that
-- holds that document; by call_id, the last call of that id.
SELECT to_jsonb(v) - 'lexemes' FROM jsonb_to_recordset($2::jsonb) AS k (
    conversation_id uuid, version bigint, call_id text)
CROSS JOIN LATERAL (
    SELECT a.* FROM {log}.view_search AS a
    WHERE a.generation = $1 AND a.conversation_id = k.conversation_id AND a.version = k.version
    UNION ALL
    SELECT b.* FROM {log}.view_search AS b
    WHERE b.generation = $1 AND b.conversation_id = k.conversation_id AND b.answers = k.version
    UNION ALL
    SELECT c.* FROM {log}.view_search AS d
    CROSS JOIN LATERAL (
        SELECT r.* FROM {log}.view_search AS r
        WHERE r.generation = $1 AND r.conversation_id = k.conversation_id
            AND r.call_id = d.call_id AND r.version < d.version
            AND r.type IN ('tool_result.recorded', 'tool_result.rejected',
                'server_tool_result.recorded')
        ORDER BY r.version DESC LIMIT 1) AS c
    WHERE d.generation = $1 AND d.conversation_id = k.conversation_id AND d.version = k.version
        AND d.type = 'document.extracted'
    UNION ALL
    (SELECT e.* FROM {log}.view_search AS e
    WHERE e.generation = $1 AND e.conversation_id = k.conversation_id AND e.call_id = k.call_id
        AND e.type IN ('tool_call.recorded', 'server_tool_call.recorded')
    ORDER BY e.version DESC LIMIT 1)
) AS v

-- name: search_put
-- $1 generation, $2 the rows as a JSON array, $3 shard, $4 part: for views that keep their rows so.
INSERT INTO {log}.view_search
SELECT $1, r.tenant, r.conversation_id, r.version, r.shard, r.position, r.recorded_at, r.type,
    r.role, r.tool, r.call_id, r.answers, r.text, r.words,
    array_to_tsvector(string_to_array(r.words, ' '))
FROM jsonb_to_recordset($2::jsonb) AS r (tenant uuid, conversation_id uuid, version bigint,
    shard smallint, position bigint, recorded_at bigint, type text, role text, tool text,
    call_id text, answers bigint, text text, words text)
WHERE $3::smallint IS NOT NULL AND $4::smallint IS NOT NULL
ON CONFLICT (generation, conversation_id, version) DO UPDATE
SET tool = excluded.tool, text = excluded.text, words = excluded.words, lexemes = excluded.lexemes

-- name: search_drop
-- No row of it is ever dropped: that of a redacted event is emptied.
DELETE FROM {log}.view_search AS v USING jsonb_to_recordset($2::jsonb) AS k (
    conversation_id uuid, version bigint)
WHERE v.generation = $1 AND v.conversation_id = k.conversation_id AND v.version = k.version

-- name: search_sweep
-- Rows of a retired generation, $2 at most: it is done when none went. In the order of an index, since a
-- scan of the table would go over all those that went before.
DELETE FROM {log}.view_search AS v WHERE v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM {log}.view_search AS w WHERE w.generation = $1
    ORDER BY w.tenant, w.position LIMIT $2))

-- name: search_page
-- $1 generation, $2 tenant, $3 the filters, those of a SearchQuery among them, and $4 the key after which
-- it goes on, JSON objects, $5 limit.
SELECT jsonb_build_object('conversation_id', v.conversation_id, 'version', v.version,
    'position', v.position, 'recorded_at', v.recorded_at, 'type', v.type, 'role', v.role,
    'tool', v.tool, 'excerpt',
    substr(v.text, greatest(1, position(($3::jsonb ->> 'around') IN lower(v.text)) - 60), 240),
    'length', length(v.text))
FROM {log}.search_rows($1, $2, $3::jsonb, $4::jsonb, $5) AS v ORDER BY v.position DESC
