-- The view `tool_ledger`: 006_tool_ledger.sql and 010_tool_ledger_ordinal.sql explain it.

-- name: tool_ledger_known
-- ?1 generation, ?2 keys as a JSON array: `at` are the rows of an event; `version` those, and those with the
-- last results up to there; `call_id` the last call of that id, on the line and at all, and those of the same response;
-- `response` the calls that it made; `waits` the calls of providers' tools that have no result yet.
WITH key AS (
  SELECT value ->> 'conversation_id' AS conversation_id, value ->> 'at' AS at,
    value ->> 'version' AS version, value ->> 'call_id' AS call_id, value ->> 'line' AS line,
    value ->> 'response' AS response, value ->> 'waits' AS waits
  FROM json_each(?2)
), last AS (
  SELECT k.conversation_id, k.call_id, (
    SELECT l.version FROM view_tool_ledger AS l INDEXED BY view_tool_ledger_call
    WHERE l.generation = ?1 AND l.conversation_id = k.conversation_id AND l.call_id = k.call_id
      AND l.kind = 'tool' AND l.result_version IS NOT l.version
    ORDER BY l.version DESC LIMIT 1) AS version
  FROM key AS k WHERE k.call_id IS NOT NULL
  UNION
  SELECT k.conversation_id, k.call_id, (
    SELECT l.version FROM view_tool_ledger AS l INDEXED BY view_tool_ledger_call
    WHERE l.generation = ?1 AND l.conversation_id = k.conversation_id AND l.call_id = k.call_id
      AND l.kind = 'tool' AND l.result_version IS NOT l.version AND l.line IS k.line
    ORDER BY l.version DESC LIMIT 1) AS version
  FROM key AS k WHERE k.call_id IS NOT NULL
), place AS (
  SELECT conversation_id, coalesce(at, version) AS version FROM key
  UNION
  SELECT b.conversation_id, b.version FROM key AS k CROSS JOIN view_tool_ledger AS b
    ON b.generation = ?1 AND b.conversation_id = k.conversation_id AND b.result_version = (
      SELECT max(r.result_version) FROM view_tool_ledger AS r
      WHERE r.generation = ?1 AND r.conversation_id = k.conversation_id
        AND r.result_version <= k.version)
  UNION
  SELECT conversation_id, version FROM last
  UNION
  SELECT d.conversation_id, d.version FROM last AS l
  CROSS JOIN view_tool_ledger AS c ON c.generation = ?1
    AND c.conversation_id = l.conversation_id AND c.version = l.version
  CROSS JOIN view_tool_ledger AS d INDEXED BY view_tool_ledger_response
    ON d.generation = ?1 AND d.conversation_id = l.conversation_id
    AND d.response = c.response AND d.call_id = l.call_id
  UNION
  SELECT e.conversation_id, e.version FROM key AS k CROSS JOIN view_tool_ledger AS e
    INDEXED BY view_tool_ledger_response ON e.generation = ?1
    AND e.conversation_id = k.conversation_id AND e.response = k.response
  UNION
  SELECT f.conversation_id, f.version FROM key AS k CROSS JOIN view_tool_ledger AS f
    ON k.waits AND f.generation = ?1 AND f.conversation_id = k.conversation_id
    AND f.kind = 'server tool' AND f.status = 'open'
)
SELECT json_object(
  'tenant', v.tenant, 'conversation_id', v.conversation_id, 'version', v.version, 'shard', v.shard,
  'position', v.position, 'recorded_at', v.recorded_at, 'line', v.line, 'call_id', v.call_id,
  'kind', v.kind, 'name', v.name, 'response', v.response, 'model', v.model, 'arguments',
  v.arguments, 'arguments_cut', v.arguments_cut, 'arguments_digest', v.arguments_digest, 'status',
  v.status, 'is_error', v.is_error, 'result_version', v.result_version, 'result', v.result,
  'result_cut', v.result_cut, 'documents', v.documents, 'duration', v.duration, 'metadata',
  json(v.metadata), 'is_redacted', v.is_redacted,
  'ordinal', v.ordinal)
FROM place AS p CROSS JOIN view_tool_ledger AS v
  ON v.generation = ?1 AND v.conversation_id = p.conversation_id AND v.version = p.version;

-- name: tool_ledger_put
-- ?1 generation, ?2 the rows as a JSON array, ?3 shard, ?4 part: for views that keep their rows so.
INSERT INTO view_tool_ledger
SELECT ?1,
  value ->> 'tenant', value ->> 'conversation_id', value ->> 'version', value ->> 'shard', value ->>
  'position', value ->> 'recorded_at', value ->> 'line', value ->> 'call_id', value ->> 'kind',
  value ->> 'name', value ->> 'response', value ->> 'model', value ->> 'arguments', value ->>
  'arguments_cut', value ->> 'arguments_digest', value ->> 'status', value ->> 'is_error', value ->>
  'result_version', value ->> 'result', value ->> 'result_cut', value ->> 'documents', value ->>
  'duration', value -> 'metadata', value ->> 'is_redacted',
  value ->> 'ordinal'
FROM json_each(?2) WHERE ?3 IS NOT NULL AND ?4 IS NOT NULL
ON CONFLICT (generation, conversation_id, version, ordinal) DO UPDATE
SET
  name = excluded.name, model = excluded.model, arguments = excluded.arguments, arguments_cut =
  excluded.arguments_cut, arguments_digest = excluded.arguments_digest, status = excluded.status,
  is_error = excluded.is_error, result_version = excluded.result_version, result = excluded.result,
  result_cut = excluded.result_cut, documents = excluded.documents, duration = excluded.duration,
  metadata = excluded.metadata, is_redacted = excluded.is_redacted;

-- name: tool_ledger_drop
-- No row of it is ever dropped.
DELETE FROM view_tool_ledger WHERE generation = ?1 AND (conversation_id, version) IN (
  SELECT value ->> 'conversation_id', value ->> 'version' FROM json_each(?2));

-- name: tool_ledger_sweep
-- Rows of a retired generation, ?2 at most: it is done when none went.
DELETE FROM view_tool_ledger WHERE (generation, conversation_id, version) IN (
  SELECT generation, conversation_id, version FROM view_tool_ledger
  WHERE generation = ?1 LIMIT ?2);

-- name: tool_ledger_forget
-- Of a conversation that was erased no call is known any more. Generations are few
-- and come first in the key: each is found by one look into it.
WITH RECURSIVE g (number) AS (
  SELECT min(generation) FROM view_tool_ledger
  UNION ALL
  SELECT (SELECT min(generation) FROM view_tool_ledger WHERE generation > g.number)
  FROM g WHERE g.number IS NOT NULL
)
DELETE FROM view_tool_ledger WHERE generation IN (SELECT number FROM g) AND conversation_id = ?1;

-- name: tool_ledger_page
-- ?1 generation, ?2 tenant, ?3 the filters and ?4 the key after which it goes on, JSON objects, ?5 limit.
SELECT json_object(
  'tenant', tenant, 'conversation_id', conversation_id, 'version', version, 'shard', shard,
  'position', position, 'recorded_at', recorded_at, 'line', line, 'call_id', call_id, 'kind', kind,
  'name', name, 'response', response, 'model', model, 'arguments', arguments, 'arguments_cut',
  arguments_cut, 'arguments_digest', arguments_digest, 'status', status, 'is_error', is_error,
  'result_version', result_version, 'result', result, 'result_cut', result_cut, 'documents',
  documents, 'duration', duration, 'metadata', json(metadata),
  'ordinal', ordinal)
FROM view_tool_ledger
WHERE generation = ?1 AND tenant = ?2 AND version > 0
  AND (position, ordinal) < (coalesce(?4 ->> 'position', 9223372036854775807),
    coalesce(?4 ->> 'ordinal', 0))
  AND conversation_id = coalesce(?3 ->> 'conversation_id', conversation_id)
  AND (?3 ->> 'name' IS NULL OR name = ?3 ->> 'name')
  AND (?3 ->> 'kind' IS NULL OR kind = ?3 ->> 'kind')
  AND (?3 ->> 'status' IS NULL OR status = ?3 ->> 'status')
  AND (?3 ->> 'arguments_digest' IS NULL OR arguments_digest = ?3 ->> 'arguments_digest')
  AND recorded_at >= coalesce(?3 ->> 'since', 0)
  AND recorded_at < coalesce(?3 ->> 'until', 9223372036854775807)
ORDER BY position DESC, ordinal DESC LIMIT ?5;
