-- The view `usage`; beside its page it has totals.

-- name: usage_known
-- ?1 generation, ?2 the keys as a JSON array: the open requests, and the answers of items, that are asked for. CROSS and the plus keep
-- SQLite from reading all of the generation.
SELECT json_object('conversation_id', v.conversation_id, 'request', request, 'model', model,
  'responses', responses, 'input_tokens', input_tokens, 'output_tokens', output_tokens,
  'cached_tokens', cached_tokens, 'cache_write_tokens', cache_write_tokens,
  'reasoning_tokens', reasoning_tokens)
FROM json_each(?2) AS k CROSS JOIN view_usage AS v
  ON request = k.value ->> 'request' AND +generation = ?1 AND request <> '';

-- name: usage_put
-- ?1 generation, ?2 what is to be added as a JSON array, ?3 shard, ?4 part. No sum is above 2^53 - 1.
INSERT INTO view_usage AS v
SELECT ?1, value ->> 'tenant', value ->> 'day', value ->> 'api', value ->> 'model', ?3, ?4,
  value ->> 'request', value ->> 'conversation_id', value ->> 'responses',
  value ->> 'input_tokens', value ->> 'output_tokens', value ->> 'cached_tokens',
  value ->> 'cache_write_tokens', value ->> 'reasoning_tokens'
FROM json_each(?2) WHERE true
ON CONFLICT (generation, tenant, day, api, model, shard, part, request) DO UPDATE
SET responses = min(v.responses + excluded.responses, 9007199254740991),
  input_tokens = min(v.input_tokens + excluded.input_tokens, 9007199254740991),
  output_tokens = min(v.output_tokens + excluded.output_tokens, 9007199254740991),
  cached_tokens = min(v.cached_tokens + excluded.cached_tokens, 9007199254740991),
  cache_write_tokens = min(v.cache_write_tokens + excluded.cache_write_tokens, 9007199254740991),
  reasoning_tokens = min(v.reasoning_tokens + excluded.reasoning_tokens, 9007199254740991);

-- name: usage_drop
-- ?1 generation, ?2 the keys as a JSON array: open requests that were answered, answers of which more is counted; the plus as above.
DELETE FROM view_usage WHERE +generation = ?1 AND request <> '' AND request IN (
  SELECT value ->> 'request' FROM json_each(?2));

-- name: usage_sweep
-- Rows of a retired generation, ?2 at most: it is done when none went.
DELETE FROM view_usage WHERE (generation, tenant, day, api, model, shard, part, request) IN (
  SELECT generation, tenant, day, api, model, shard, part, request
  FROM view_usage WHERE generation = ?1 LIMIT ?2);

-- name: usage_forget
-- Sums say nothing of what was said.
DELETE FROM view_usage WHERE conversation_id = ?1;

-- name: usage_page
-- ?1 generation, ?2 tenant, ?3 the filters and ?4 the key after which it goes on, JSON objects, ?5 limit.
-- There is one part, so there is one row of each day, API and model.
SELECT json_object('tenant', tenant, 'day', day, 'api', api, 'model', model,
  'responses', responses, 'input_tokens', input_tokens, 'output_tokens', output_tokens,
  'cached_tokens', cached_tokens, 'cache_write_tokens', cache_write_tokens,
  'reasoning_tokens', reasoning_tokens)
FROM view_usage
WHERE generation = ?1 AND tenant = ?2 AND request = ''
  AND day <= coalesce(?4 ->> 'day', '9999-12-31')
  AND (?4 ->> 'day' IS NULL OR day < ?4 ->> 'day' OR (api, model) > (?4 ->> 'api', ?4 ->> 'model'))
  AND day >= coalesce(?3 ->> 'since', '')
  AND day < coalesce(?3 ->> 'until', '9999-12-31')
  AND (?3 ->> 'api' IS NULL OR api = ?3 ->> 'api')
  AND (?3 ->> 'model' IS NULL OR model = ?3 ->> 'model')
ORDER BY day DESC, api, model LIMIT ?5;

-- name: usage_total
-- ?1 generation, ?2 tenant, ?3 the filters as a JSON object: what each model used, on all those days.
SELECT json_object('tenant', tenant, 'api', api, 'model', model,
  'responses', sum(responses), 'input_tokens', sum(input_tokens),
  'output_tokens', sum(output_tokens), 'cached_tokens', sum(cached_tokens),
  'cache_write_tokens', sum(cache_write_tokens), 'reasoning_tokens', sum(reasoning_tokens))
FROM view_usage
WHERE generation = ?1 AND tenant = ?2 AND request = ''
  AND day >= coalesce(?3 ->> 'since', '')
  AND day < coalesce(?3 ->> 'until', '9999-12-31')
  AND (?3 ->> 'api' IS NULL OR api = ?3 ->> 'api')
  AND (?3 ->> 'model' IS NULL OR model = ?3 ->> 'model')
GROUP BY tenant, api, model
ORDER BY api, model;
