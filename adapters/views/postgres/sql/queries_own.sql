-- The rows of projections that programs bring; their keys and filters name the projection.

-- name: own_known
-- $1 generation, $2 the keys as a JSON array.
SELECT jsonb_build_object('conversation_id', v.conversation_id, 'name', v.name, 'value', v.value)
FROM jsonb_to_recordset($2::jsonb) AS k (view text, conversation_id uuid, name text)
JOIN {log}.view_own AS v ON v.conversation_id = k.conversation_id AND v.view = k.view
    AND v.generation = $1 AND v.name = k.name

-- name: own_put
-- $1 generation, $2 the rows as a JSON array, $3 shard, $4 part: for views that keep their rows so.
INSERT INTO {log}.view_own (view, generation, tenant, conversation_id, name, value)
SELECT r.view, $1, r.tenant, r.conversation_id, r.name, r.value
FROM jsonb_to_recordset($2::jsonb) AS r (view text, tenant uuid, conversation_id uuid, name text,
    value jsonb)
WHERE $3::smallint IS NOT NULL AND $4::smallint IS NOT NULL
ON CONFLICT (conversation_id, view, generation, name) DO UPDATE SET value = excluded.value

-- name: own_drop
-- $1 generation, $2 the keys as a JSON array.
DELETE FROM {log}.view_own AS v
USING jsonb_to_recordset($2::jsonb) AS k (view text, conversation_id uuid, name text)
WHERE v.conversation_id = k.conversation_id AND v.view = k.view AND v.generation = $1
    AND v.name = k.name

-- name: own_sweep
-- Rows of a retired generation of $3, $2 at most: it is done when none went. In the order of an index, since a
-- scan of the table would go over all those that went before.
DELETE FROM {log}.view_own AS v WHERE v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM {log}.view_own AS w WHERE w.view = $3 AND w.generation = $1
    ORDER BY w.tenant, w.name LIMIT $2))

-- name: own_page
-- $1 generation, $2 tenant, $3 the filters and $4 the key after which it goes on, JSON objects, $5 limit.
SELECT jsonb_build_object('conversation_id', v.conversation_id, 'name', v.name, 'value', v.value)
FROM {log}.view_own AS v
WHERE v.view = $3::jsonb ->> 'view' AND v.generation = $1 AND v.tenant = $2
    AND ($4::jsonb ->> 'name' IS NULL
        OR (v.name, v.conversation_id) > ($4::jsonb ->> 'name', ($4::jsonb ->> 'conversation_id')::uuid))
    AND ($3::jsonb ->> 'conversation_id' IS NULL
        OR v.conversation_id = ($3::jsonb ->> 'conversation_id')::uuid)
    AND ($3::jsonb ->> 'prefix' IS NULL OR starts_with(v.name, $3::jsonb ->> 'prefix'))
ORDER BY v.name, v.conversation_id LIMIT $5
