-- The view `window`: 007_window.sql explains it.

-- name: window_known
-- ?1 generation, ?2 keys as a JSON array: `version` is a row, `exchange` the prompt that opened it on the
-- main branch, `line` what is open on a side branch.
WITH key AS (
  SELECT value ->> 'conversation_id' AS conversation_id, value ->> 'version' AS version,
    value ->> 'exchange' AS exchange, value ->> 'line' AS line
  FROM json_each(?2)
), place AS (
  SELECT conversation_id, version FROM key
  UNION
  SELECT b.conversation_id, b.version FROM key AS k CROSS JOIN view_window AS b
    INDEXED BY view_window_exchange ON b.generation = ?1 AND b.conversation_id = k.conversation_id AND b.exchange = k.exchange
    AND b.opens AND b.line IS NULL
  UNION
  SELECT c.conversation_id, c.version FROM key AS k CROSS JOIN view_window AS c
    INDEXED BY view_window_line ON c.generation = ?1 AND c.conversation_id = k.conversation_id AND c.line = k.line
    AND c.version < 0
)
SELECT json_object('tenant', v.tenant, 'conversation_id', v.conversation_id, 'version', v.version,
  'line', v.line, 'exchange', v.exchange, 'recorded_at', v.recorded_at, 'role', v.role,
  'opens', v.opens, 'shown', v.shown, 'messages', v.messages, 'tool_calls', v.tool_calls,
  'documents', v.documents, 'input_tokens', v.input_tokens, 'output_tokens', v.output_tokens,
  'speech', v.speech, 'text', v.text, 'state', json(v.state))
FROM place AS p CROSS JOIN view_window AS v
  ON v.generation = ?1 AND v.conversation_id = p.conversation_id AND v.version = p.version;

-- name: window_put
-- ?1 generation, ?2 the rows as a JSON array, ?3 shard, ?4 part: for views that keep their rows so. A row
-- without a version says what becomes of rows that are there: the text of `redacted` goes, and from
-- version `changed` on the main branch is made of `segments`. Of others members may be absent.
WITH retold AS (
  SELECT value ->> 'conversation_id' AS conversation_id, value -> 'redacted' AS redacted,
    value ->> 'changed' AS changed, value -> 'segments' AS segments
  FROM json_each(?2) WHERE value ->> 'version' IS NULL
), place AS (
  SELECT p.*, x.version FROM retold AS p CROSS JOIN view_window AS x
    ON x.generation = ?1 AND x.conversation_id = p.conversation_id AND x.version >= p.changed
  UNION
  SELECT p.*, r.value FROM retold AS p CROSS JOIN json_each(p.redacted) AS r
)
INSERT INTO view_window
SELECT ?1, value ->> 'tenant', value ->> 'conversation_id', value ->> 'version', value ->> 'line',
  coalesce(value ->> 'exchange', 0), coalesce(value ->> 'recorded_at', 0),
  coalesce(value ->> 'role', 'record'), coalesce(value ->> 'opens', 0),
  coalesce(value ->> 'shown', 0), coalesce(value ->> 'messages', 0),
  coalesce(value ->> 'tool_calls', 0), coalesce(value ->> 'documents', 0),
  coalesce(value ->> 'input_tokens', 0), coalesce(value ->> 'output_tokens', 0),
  value ->> 'speech', value ->> 'text', value -> 'state'
FROM json_each(?2) WHERE value ->> 'version' IS NOT NULL AND ?3 IS NOT NULL AND ?4 IS NOT NULL
UNION ALL
SELECT w.generation, w.tenant, w.conversation_id, w.version, w.line, w.exchange, w.recorded_at,
  w.role, w.opens,
  CASE WHEN p.changed IS NULL OR w.version < p.changed THEN w.shown
    ELSE EXISTS (SELECT 1 FROM json_each(p.segments) AS s
      WHERE w.version > s.value ->> 0 AND w.version <= s.value ->> 1
        AND w.line IS s.value ->> 2) END,
  w.messages, w.tool_calls, w.documents, w.input_tokens, w.output_tokens, w.speech,
  CASE WHEN EXISTS (SELECT 1 FROM json_each(p.redacted) AS r WHERE r.value = w.version)
    THEN NULL ELSE w.text END, w.state
FROM place AS p CROSS JOIN view_window AS w
  ON w.generation = ?1 AND w.conversation_id = p.conversation_id AND w.version = p.version
WHERE true
ON CONFLICT (generation, conversation_id, version) DO UPDATE
SET shown = excluded.shown, text = excluded.text, state = excluded.state;

-- name: window_drop
-- No row of it is ever dropped.
DELETE FROM view_window WHERE generation = ?1 AND (conversation_id, version) IN (
  SELECT value ->> 'conversation_id', value ->> 'version' FROM json_each(?2));

-- name: window_sweep
-- Rows of a retired generation, ?2 at most: it is done when none went.
DELETE FROM view_window WHERE (generation, conversation_id, version) IN (
  SELECT generation, conversation_id, version FROM view_window WHERE generation = ?1 LIMIT ?2);

-- name: window_forget
-- Of a conversation that was erased nothing is remembered. Generations are few
-- and come first in the key: each is found by one look into it.
WITH RECURSIVE g (number) AS (
  SELECT min(generation) FROM view_window
  UNION ALL
  SELECT (SELECT min(generation) FROM view_window WHERE generation > g.number)
  FROM g WHERE g.number IS NOT NULL
)
DELETE FROM view_window WHERE generation IN (SELECT number FROM g) AND conversation_id = ?1;

-- name: window_page
-- ?1 generation, ?2 tenant, ?3 the filters (the conversation) and ?4 the key after which it goes on, JSON
-- objects, ?5 limit: from the prompt that opened the last exchange that is asked for, its rows are read.
WITH opening AS MATERIALIZED (
  SELECT version FROM view_window INDEXED BY view_window_opening
  WHERE generation = ?1 AND tenant = ?2 AND conversation_id = ?3 ->> 'conversation_id'
    AND opens AND shown AND version < coalesce(?4 ->> 'first_version', 9223372036854775807)
  ORDER BY version DESC LIMIT ?5
), told AS MATERIALIZED (
  SELECT *, max(version) FILTER (WHERE opens) OVER (ORDER BY version) AS first_version
  FROM view_window
  WHERE generation = ?1 AND tenant = ?2 AND conversation_id = ?3 ->> 'conversation_id' AND shown
    AND version >= (SELECT min(version) FROM opening)
    AND version < coalesce(?4 ->> 'first_version', 9223372036854775807)
), last AS MATERIALIZED (
  SELECT first_version, max(version) AS version, speech FROM told
  WHERE role = 'assistant' AND text <> '' GROUP BY first_version
)
SELECT json_object(
  'conversation_id', ?3 ->> 'conversation_id',
  'exchange', max(t.exchange) FILTER (WHERE t.version = t.first_version),
  'first_version', t.first_version,
  'last_version', max(t.version),
  'opened_at', max(t.recorded_at) FILTER (WHERE t.version = t.first_version),
  'last_at', max(t.recorded_at),
  'messages', sum(t.messages),
  'tool_calls', sum(t.tool_calls),
  'documents', sum(t.documents),
  'input_tokens', min(CAST(total(t.input_tokens) AS INTEGER), 9007199254740991),
  'output_tokens', min(CAST(total(t.output_tokens) AS INTEGER), 9007199254740991),
  'prompt', max(t.text) FILTER (WHERE t.version = t.first_version),
  'answer', substr(group_concat(t.text, '' ORDER BY t.version)
    FILTER (WHERE t.role = 'assistant' AND t.speech = l.speech), 1, 2000),
  'is_closed', t.first_version < (
    SELECT max(n.version) FROM view_window AS n INDEXED BY view_window_opening
    WHERE n.generation = ?1 AND n.conversation_id = ?3 ->> 'conversation_id'
      AND n.opens AND n.shown))
FROM told AS t LEFT JOIN last AS l ON l.first_version = t.first_version
GROUP BY t.first_version ORDER BY t.first_version DESC;
