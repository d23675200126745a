-- The view `conversations`.

-- name: conversations_known
-- ?1 generation, ?2 the keys as a JSON array. Without CROSS the generation's rows would be read first.
SELECT json_object('tenant', tenant, 'conversation_id', v.conversation_id, 'shard', shard,
  'last_position', last_position, 'last_at', last_at, 'started_at', started_at,
  'version', version, 'key', v.key, 'title', title, 'title_version', title_version,
  'origin', origin, 'closed', json(iif(closed, 'true', 'false')), 'exchanges', exchanges,
  'user_messages', user_messages, 'assistant_messages', assistant_messages,
  'system_messages', system_messages, 'tool_calls', tool_calls,
  'server_tool_calls', server_tool_calls, 'documents', documents, 'responses', responses,
  'interrupted', interrupted, 'failed', failed, 'input_tokens', input_tokens,
  'output_tokens', output_tokens, 'participants', json(participants),
  'providers', json(providers), 'models', json(models))
FROM json_each(?2) AS k CROSS JOIN view_conversations AS v
  ON generation = ?1 AND v.conversation_id = k.value ->> 'conversation_id';

-- name: conversations_put
-- ?1 generation, ?2 the rows as a JSON array, whole; ?3 shard, ?4 part: it does not keep rows by part.
INSERT INTO view_conversations
SELECT ?1, value ->> 'conversation_id', value ->> 'tenant', value ->> 'shard',
  value ->> 'last_position', value ->> 'last_at', value ->> 'started_at', value ->> 'version',
  value ->> 'key', value ->> 'title', value ->> 'title_version', value ->> 'origin',
  value ->> 'closed', value ->> 'exchanges', value ->> 'user_messages',
  value ->> 'assistant_messages', value ->> 'system_messages', value ->> 'tool_calls',
  value ->> 'server_tool_calls', value ->> 'documents', value ->> 'responses',
  value ->> 'interrupted', value ->> 'failed', value ->> 'input_tokens', value ->> 'output_tokens',
  value -> 'participants', value -> 'providers', value -> 'models'
FROM json_each(?2) WHERE ?3 IS NOT NULL AND ?4 IS NOT NULL
ON CONFLICT (conversation_id, generation) DO UPDATE
SET last_position = excluded.last_position, last_at = excluded.last_at, version = excluded.version,
  key = excluded.key, title = excluded.title, title_version = excluded.title_version,
  origin = excluded.origin, closed = excluded.closed, exchanges = excluded.exchanges,
  user_messages = excluded.user_messages, assistant_messages = excluded.assistant_messages,
  system_messages = excluded.system_messages, tool_calls = excluded.tool_calls,
  server_tool_calls = excluded.server_tool_calls, documents = excluded.documents,
  responses = excluded.responses, interrupted = excluded.interrupted, failed = excluded.failed,
  input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
  participants = excluded.participants, providers = excluded.providers, models = excluded.models;

-- name: conversations_drop
-- No row of it is ever dropped by a fold.
DELETE FROM view_conversations WHERE generation = ?1 AND conversation_id IN (
  SELECT value ->> 'conversation_id' FROM json_each(?2));

-- name: conversations_sweep
-- Rows of a retired generation, ?2 at most: it is done when none went.
DELETE FROM view_conversations WHERE (conversation_id, generation) IN (
  SELECT conversation_id, generation FROM view_conversations WHERE generation = ?1 LIMIT ?2);

-- name: conversations_forget
-- A conversation that was erased has no row.
DELETE FROM view_conversations WHERE conversation_id = ?1;

-- name: conversations_page
-- ?1 generation, ?2 tenant, ?3 the filters and ?4 the key after which it goes on, JSON objects, ?5 limit.
SELECT json_object('tenant', tenant, 'conversation_id', conversation_id, 'shard', shard,
  'last_position', last_position, 'last_at', last_at, 'started_at', started_at,
  'version', version, 'key', key, 'title', title, 'title_version', title_version,
  'origin', origin, 'closed', json(iif(closed, 'true', 'false')), 'exchanges', exchanges,
  'user_messages', user_messages, 'assistant_messages', assistant_messages,
  'system_messages', system_messages, 'tool_calls', tool_calls,
  'server_tool_calls', server_tool_calls, 'documents', documents, 'responses', responses,
  'interrupted', interrupted, 'failed', failed, 'input_tokens', input_tokens,
  'output_tokens', output_tokens, 'participants', json(participants),
  'providers', json(providers), 'models', json(models))
FROM view_conversations
WHERE generation = ?1 AND tenant = ?2
  AND last_position < coalesce(?4 ->> 'last_position', 9223372036854775807)
  AND conversation_id = coalesce(?3 ->> 'conversation_id', conversation_id)
  AND (?3 ->> 'key' IS NULL OR key = ?3 ->> 'key')
  AND (?3 ->> 'closed' IS NULL OR closed = ?3 ->> 'closed')
  AND (?3 ->> 'actor' IS NULL OR ?3 ->> 'actor' IN (SELECT value FROM json_each(participants)))
  AND (?3 ->> 'provider' IS NULL OR ?3 ->> 'provider' IN (SELECT value FROM json_each(providers)))
  AND (?3 ->> 'model' IS NULL OR ?3 ->> 'model' IN (SELECT value FROM json_each(models)))
  AND last_at >= coalesce(?3 ->> 'since', 0)
  AND last_at < coalesce(?3 ->> 'until', 9223372036854775807)
ORDER BY last_position DESC LIMIT ?5;
