-- The view `usage`; beside its page it has totals.

-- name: usage_known
-- $1 generation, $2 the keys as a JSON array: the open requests, and the answers of items, that are asked for.
SELECT jsonb_build_object('conversation_id', v.conversation_id, 'request', v.request, 'model', v.model,
    'responses', v.responses, 'input_tokens', v.input_tokens, 'output_tokens', v.output_tokens,
    'cached_tokens', v.cached_tokens, 'cache_write_tokens', v.cache_write_tokens,
    'reasoning_tokens', v.reasoning_tokens)
FROM jsonb_to_recordset($2::jsonb) AS k (request text)
JOIN {log}.view_usage AS v
    ON v.generation = $1 AND v.request = k.request AND v.request <> ''

-- name: usage_put
-- $1 generation, $2 what is to be added as a JSON array, $3 shard, $4 part. No sum is above 2^53 - 1.
INSERT INTO {log}.view_usage AS v
SELECT $1, r.tenant, r.day, r.api, r.model, $3, $4, r.request, r.conversation_id,
    least(sum(r.responses), 9007199254740991), least(sum(r.input_tokens), 9007199254740991),
    least(sum(r.output_tokens), 9007199254740991), least(sum(r.cached_tokens), 9007199254740991),
    least(sum(r.cache_write_tokens), 9007199254740991),
    least(sum(r.reasoning_tokens), 9007199254740991)
FROM jsonb_to_recordset($2::jsonb) AS r (tenant uuid, day date, api text, model text, request text,
    conversation_id uuid, responses bigint, input_tokens bigint, output_tokens bigint,
    cached_tokens bigint, cache_write_tokens bigint, reasoning_tokens bigint)
GROUP BY r.tenant, r.day, r.api, r.model, r.request, r.conversation_id
ON CONFLICT (generation, tenant, day, api, model, shard, part, request) DO UPDATE
SET responses = least(v.responses + excluded.responses, 9007199254740991),
    input_tokens = least(v.input_tokens + excluded.input_tokens, 9007199254740991),
    output_tokens = least(v.output_tokens + excluded.output_tokens, 9007199254740991),
    cached_tokens = least(v.cached_tokens + excluded.cached_tokens, 9007199254740991),
    cache_write_tokens = least(v.cache_write_tokens + excluded.cache_write_tokens, 9007199254740991),
    reasoning_tokens = least(v.reasoning_tokens + excluded.reasoning_tokens, 9007199254740991)

-- name: usage_drop
-- $1 generation, $2 the keys as a JSON array: open requests that were answered, answers of which more is counted.
DELETE FROM {log}.view_usage AS v USING jsonb_to_recordset($2::jsonb) AS k (request text)
WHERE v.generation = $1 AND v.request = k.request AND v.request <> ''

-- name: usage_sweep
-- Rows of a retired generation, $2 at most: it is done when none went. In the order of an index, since a
-- scan of the table would go over all those that went before.
DELETE FROM {log}.view_usage AS v WHERE v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM {log}.view_usage AS w WHERE w.generation = $1
    ORDER BY w.tenant, w.day DESC LIMIT $2))

-- name: usage_page
-- $1 generation, $2 tenant, $3 the filters and $4 the key after which it goes on, JSON objects, $5 limit.
SELECT jsonb_build_object('tenant', v.tenant, 'day', v.day, 'api', v.api, 'model', v.model,
    'responses', sum(v.responses), 'input_tokens', sum(v.input_tokens),
    'output_tokens', sum(v.output_tokens), 'cached_tokens', sum(v.cached_tokens),
    'cache_write_tokens', sum(v.cache_write_tokens), 'reasoning_tokens', sum(v.reasoning_tokens))
FROM {log}.view_usage AS v
WHERE v.generation = $1 AND v.tenant = $2 AND v.request = ''
    AND v.day <= coalesce(($4::jsonb ->> 'day')::date, 'infinity')
    AND ($4::jsonb ->> 'day' IS NULL OR v.day < ($4::jsonb ->> 'day')::date
        OR (v.api, v.model) > ($4::jsonb ->> 'api', $4::jsonb ->> 'model'))
    AND v.day >= coalesce(($3::jsonb ->> 'since')::date, '-infinity')
    AND v.day < coalesce(($3::jsonb ->> 'until')::date, 'infinity')
    AND ($3::jsonb ->> 'api' IS NULL OR v.api = $3::jsonb ->> 'api')
    AND ($3::jsonb ->> 'model' IS NULL OR v.model = $3::jsonb ->> 'model')
GROUP BY v.tenant, v.day, v.api, v.model
ORDER BY v.day DESC, v.api, v.model LIMIT $5

-- name: usage_total
-- $1 generation, $2 tenant, $3 the filters as a JSON object: what each model used, on all those days.
SELECT jsonb_build_object('tenant', v.tenant, 'api', v.api, 'model', v.model,
    'responses', sum(v.responses), 'input_tokens', sum(v.input_tokens),
    'output_tokens', sum(v.output_tokens), 'cached_tokens', sum(v.cached_tokens),
    'cache_write_tokens', sum(v.cache_write_tokens), 'reasoning_tokens', sum(v.reasoning_tokens))
FROM {log}.view_usage AS v
WHERE v.generation = $1 AND v.tenant = $2 AND v.request = ''
    AND v.day >= coalesce(($3::jsonb ->> 'since')::date, '-infinity')
    AND v.day < coalesce(($3::jsonb ->> 'until')::date, 'infinity')
    AND ($3::jsonb ->> 'api' IS NULL OR v.api = $3::jsonb ->> 'api')
    AND ($3::jsonb ->> 'model' IS NULL OR v.model = $3::jsonb ->> 'model')
GROUP BY v.tenant, v.api, v.model
ORDER BY v.api, v.model
