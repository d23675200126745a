-- The view `window`: 008_window.sql explains it.

-- name: window_known
-- $1 generation, $2 keys as a JSON array: `version` is a row, `exchange` the prompt that opened it on the
-- main branch, `line` what is open on a side branch.
SELECT to_jsonb(v) FROM jsonb_to_recordset($2::jsonb) AS k (
    conversation_id uuid, version bigint, exchange bigint, line uuid)
CROSS JOIN LATERAL (
    SELECT a.* FROM {log}.view_window AS a
    WHERE a.generation = $1 AND a.conversation_id = k.conversation_id AND a.version = k.version
    UNION ALL
    SELECT b.* FROM {log}.view_window AS b
    WHERE b.generation = $1 AND b.conversation_id = k.conversation_id
        AND b.exchange = k.exchange AND b.opens AND b.line IS NULL
    UNION ALL
    SELECT c.* FROM {log}.view_window AS c
    WHERE c.generation = $1 AND c.conversation_id = k.conversation_id
        AND c.line = k.line AND c.version < 0
) AS v

-- name: window_put
-- $1 generation, $2 the rows as a JSON array, $3 shard, $4 part: for views that keep their rows so. A row
-- without a version says what becomes of rows that are there: the text of `redacted` goes, and from
-- version `changed` on the main branch is made of `segments`. Of others members may be absent.
INSERT INTO {log}.view_window
SELECT $1, r.tenant, r.conversation_id, r.version, r.line, coalesce(r.exchange, 0),
    coalesce(r.recorded_at, 0), coalesce(r.role, 'record'), coalesce(r.opens, false),
    coalesce(r.shown, false), coalesce(r.messages, 0), coalesce(r.tool_calls, 0),
    coalesce(r.documents, 0), coalesce(r.input_tokens, 0), coalesce(r.output_tokens, 0),
    r.speech, r.text, r.state
FROM jsonb_to_recordset($2::jsonb) AS r (tenant uuid, conversation_id uuid, version bigint,
    line uuid, exchange bigint, recorded_at bigint, role text, opens boolean, shown boolean,
    messages smallint, tool_calls smallint, documents integer, input_tokens bigint,
    output_tokens bigint, speech text, text text, state jsonb)
WHERE r.version IS NOT NULL AND $3::smallint IS NOT NULL AND $4::smallint IS NOT NULL
UNION ALL
SELECT w.generation, w.tenant, w.conversation_id, w.version, w.line, w.exchange, w.recorded_at,
    w.role, w.opens,
    CASE WHEN w.version < p.changed OR p.changed IS NULL THEN w.shown
        ELSE EXISTS (SELECT FROM jsonb_array_elements(p.segments) AS s
            WHERE w.version > (s ->> 0)::bigint AND w.version <= (s ->> 1)::bigint
                AND w.line IS NOT DISTINCT FROM (s ->> 2)::uuid) END,
    w.messages, w.tool_calls, w.documents, w.input_tokens, w.output_tokens, w.speech,
    CASE WHEN p.redacted @> to_jsonb(w.version) THEN NULL ELSE w.text END, w.state
FROM jsonb_to_recordset($2::jsonb) AS p (
    conversation_id uuid, version bigint, redacted jsonb, changed bigint, segments jsonb)
CROSS JOIN LATERAL (
    SELECT x.version FROM {log}.view_window AS x
    WHERE x.generation = $1 AND x.conversation_id = p.conversation_id AND x.version >= p.changed
    UNION
    SELECT redacted.version::bigint FROM jsonb_array_elements_text(p.redacted) AS redacted (version)
) AS t
JOIN {log}.view_window AS w
    ON w.generation = $1 AND w.conversation_id = p.conversation_id AND w.version = t.version
WHERE p.version IS NULL
ON CONFLICT (generation, conversation_id, version) DO UPDATE
SET shown = excluded.shown, text = excluded.text, state = excluded.state

-- name: window_drop
-- No row of it is ever dropped.
DELETE FROM {log}.view_window AS v USING jsonb_to_recordset($2::jsonb) AS k (
    conversation_id uuid, version bigint)
WHERE v.generation = $1 AND v.conversation_id = k.conversation_id AND v.version = k.version

-- name: window_sweep
-- Rows of a retired generation, $2 at most: it is done when none went. In the order of an index, since a
-- scan of the table would go over all those that went before.
DELETE FROM {log}.view_window AS v WHERE v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM {log}.view_window AS w WHERE w.generation = $1
    ORDER BY w.conversation_id, w.version LIMIT $2))

-- name: window_page
-- $1 generation, $2 tenant, $3 the filters (the conversation) and $4 the key after which it goes on, JSON
-- objects, $5 limit: from the prompt that opened the last exchange that is asked for, its rows are read.
WITH opening AS MATERIALIZED (
    SELECT v.version FROM {log}.view_window AS v
    WHERE v.generation = $1 AND v.tenant = $2
        AND v.conversation_id = ($3::jsonb ->> 'conversation_id')::uuid AND v.opens AND v.shown
        AND v.version < coalesce(($4::jsonb ->> 'first_version')::bigint, 9223372036854775807)
    ORDER BY v.version DESC LIMIT $5
), told AS (
    SELECT v.*, max(v.version) FILTER (WHERE v.opens) OVER (ORDER BY v.version) AS first_version
    FROM {log}.view_window AS v
    WHERE v.generation = $1 AND v.tenant = $2
        AND v.conversation_id = ($3::jsonb ->> 'conversation_id')::uuid AND v.shown
        AND v.version >= (SELECT min(o.version) FROM opening AS o)
        AND v.version < coalesce(($4::jsonb ->> 'first_version')::bigint, 9223372036854775807)
), last AS (
    SELECT DISTINCT ON (t.first_version) t.first_version, t.speech FROM told AS t
    WHERE t.role = 'assistant' AND t.text <> '' ORDER BY t.first_version, t.version DESC
)
SELECT jsonb_build_object(
    'conversation_id', $3::jsonb ->> 'conversation_id',
    'exchange', max(t.exchange) FILTER (WHERE t.version = t.first_version),
    'first_version', t.first_version,
    'last_version', max(t.version),
    'opened_at', max(t.recorded_at) FILTER (WHERE t.version = t.first_version),
    'last_at', max(t.recorded_at),
    'messages', sum(t.messages),
    'tool_calls', sum(t.tool_calls),
    'documents', sum(t.documents),
    'input_tokens', least(sum(t.input_tokens), 9007199254740991),
    'output_tokens', least(sum(t.output_tokens), 9007199254740991),
    'prompt', max(t.text) FILTER (WHERE t.version = t.first_version),
    'answer', left(string_agg(t.text, '' ORDER BY t.version)
        FILTER (WHERE t.role = 'assistant' AND t.speech = l.speech), 2000),
    'is_closed', t.first_version < (SELECT max(n.version) FROM {log}.view_window AS n
        WHERE n.generation = $1 AND n.conversation_id = ($3::jsonb ->> 'conversation_id')::uuid
            AND n.opens AND n.shown))
FROM told AS t LEFT JOIN last AS l ON l.first_version = t.first_version
GROUP BY t.first_version ORDER BY t.first_version DESC
