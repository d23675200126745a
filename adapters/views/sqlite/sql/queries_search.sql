-- The view `search`: 005_search.sql explains it.

-- name: search_known
-- ?1 generation, ?2 keys as a JSON array: by version, a row, the results of that call, and the result that
-- holds that document; by call_id, the last call of that id.
SELECT json_object('tenant', tenant, 'conversation_id', v.conversation_id, 'version', v.version,
  'shard', shard, 'position', position, 'recorded_at', recorded_at, 'type', v.type, 'role', role,
  'tool', tool, 'call_id', v.call_id, 'answers', answers, 'text', text, 'words', words)
FROM json_each(?2) AS k CROSS JOIN view_search AS v ON v.id IN (
  SELECT id FROM view_search WHERE generation = ?1
    AND conversation_id = k.value ->> 'conversation_id' AND version = k.value ->> 'version'
  UNION ALL
  SELECT id FROM view_search WHERE generation = ?1
    AND conversation_id = k.value ->> 'conversation_id' AND answers = k.value ->> 'version'
  UNION ALL
  SELECT (
    SELECT r.id FROM view_search AS r
    WHERE r.generation = ?1 AND r.conversation_id = d.conversation_id AND r.call_id = d.call_id
      AND r.version < d.version
      AND r.type IN ('tool_result.recorded', 'tool_result.rejected', 'server_tool_result.recorded')
    ORDER BY r.version DESC LIMIT 1)
  FROM view_search AS d WHERE d.generation = ?1
    AND d.conversation_id = k.value ->> 'conversation_id' AND d.version = k.value ->> 'version'
    AND d.type = 'document.extracted'
  UNION ALL
  SELECT (
    SELECT c.id FROM view_search AS c
    WHERE c.generation = ?1 AND c.conversation_id = k.value ->> 'conversation_id'
      AND c.call_id = k.value ->> 'call_id'
      AND c.type IN ('tool_call.recorded', 'server_tool_call.recorded')
    ORDER BY c.version DESC LIMIT 1)
);

-- name: search_put
-- ?1 generation, ?2 the rows as a JSON array, ?3 shard, ?4 part: for views that keep their rows so.
INSERT INTO view_search
SELECT ?1 << 40 | value ->> 'position', ?1, value ->> 'tenant', value ->> 'conversation_id',
  value ->> 'version', value ->> 'shard', value ->> 'position', value ->> 'recorded_at',
  value ->> 'type', value ->> 'role', value ->> 'tool', value ->> 'call_id', value ->> 'answers',
  value ->> 'text', value ->> 'words'
FROM json_each(?2) WHERE ?3 IS NOT NULL AND ?4 IS NOT NULL
ON CONFLICT (id) DO UPDATE SET tool = excluded.tool, text = excluded.text, words = excluded.words;

-- name: search_drop
-- No row of it is ever dropped: that of a redacted event is emptied.
DELETE FROM view_search WHERE generation = ?1 AND (conversation_id, version) IN (
  SELECT value ->> 'conversation_id', value ->> 'version' FROM json_each(?2));

-- name: search_sweep
-- Rows of a retired generation, ?2 at most: it is done when none went.
DELETE FROM view_search WHERE id IN (
  SELECT id FROM view_search WHERE id >= ?1 << 40 AND id < (?1 + 1) << 40 LIMIT ?2);

-- name: search_forget
-- Of a conversation that was erased nothing is found any more. Generations are few
-- and come first in the key: each is found by one look into it.
WITH RECURSIVE g (number) AS (
  SELECT min(generation) FROM view_search
  UNION ALL
  SELECT (SELECT min(generation) FROM view_search WHERE generation > g.number)
  FROM g WHERE g.number IS NOT NULL
)
DELETE FROM view_search WHERE generation IN (SELECT number FROM g) AND conversation_id = ?1;

-- name: search_page
-- ?1 generation, ?2 tenant, ?3 the filters, those of a SearchQuery among them, and ?4 the key after which
-- it goes on, JSON objects, ?5 limit.
SELECT json_object('conversation_id', v.conversation_id, 'version', v.version,
  'position', v.position, 'recorded_at', v.recorded_at, 'type', v.type, 'role', v.role,
  'tool', v.tool, 'excerpt',
  substr(v.text, max(1, instr(lower(v.text), ?3 ->> 'around') - 60), 240),
  'length', length(v.text))
FROM view_search_words AS w CROSS JOIN view_search AS v ON v.id = w.rowid
WHERE w.words MATCH ?3 ->> 'match'
  AND w.rowid >= ?1 << 40
  AND w.rowid < ?1 << 40 | coalesce(?4 ->> 'position', (1 << 40) - 1)
  AND v.tenant = ?2
  AND v.conversation_id = coalesce(?3 ->> 'conversation_id', v.conversation_id)
  AND (?3 ->> 'role' IS NULL OR v.role = ?3 ->> 'role')
  AND (?3 ->> 'tool' IS NULL OR v.tool = ?3 ->> 'tool')
  AND v.recorded_at >= coalesce(?3 ->> 'since', 0)
  AND v.recorded_at < coalesce(?3 ->> 'until', 9223372036854775807)
ORDER BY w.rowid DESC LIMIT ?5;
