-- The rows of projections that programs bring; their keys and filters name the projection.

-- name: own_known
-- ?1 generation, ?2 the keys as a JSON array.
SELECT json_object('conversation_id', v.conversation_id, 'name', v.name, 'value', json(v.value))
FROM json_each(?2) AS k CROSS JOIN view_own AS v
  ON v.conversation_id = k.value ->> 'conversation_id' AND v.view = k.value ->> 'view'
    AND v.generation = ?1 AND v.name = k.value ->> 'name';

-- name: own_put
-- ?1 generation, ?2 the rows as a JSON array, ?3 shard, ?4 part: for views that keep their rows so.
INSERT INTO view_own (view, generation, tenant, conversation_id, name, value)
SELECT value ->> 'view', ?1, value ->> 'tenant', value ->> 'conversation_id', value ->> 'name',
  value -> 'value'
FROM json_each(?2) WHERE ?3 IS NOT NULL AND ?4 IS NOT NULL
ON CONFLICT (conversation_id, view, generation, name) DO UPDATE SET value = excluded.value;

-- name: own_drop
-- ?1 generation, ?2 the keys as a JSON array.
DELETE FROM view_own WHERE (conversation_id, view, generation, name) IN (
  SELECT value ->> 'conversation_id', value ->> 'view', ?1, value ->> 'name' FROM json_each(?2));

-- name: own_sweep
-- Rows of a retired generation of ?3, ?2 at most: it is done when none went.
DELETE FROM view_own WHERE (conversation_id, view, generation, name) IN (
  SELECT conversation_id, view, generation, name FROM view_own
  WHERE view = ?3 AND generation = ?1 LIMIT ?2);

-- name: own_forget
-- All rows of a conversation that was erased, whatever made them.
DELETE FROM view_own WHERE conversation_id = ?1;

-- name: own_page
-- ?1 generation, ?2 tenant, ?3 the filters and ?4 the key after which it goes on, JSON objects, ?5 limit.
SELECT json_object('conversation_id', conversation_id, 'name', name, 'value', json(value))
FROM view_own
WHERE view = ?3 ->> 'view' AND generation = ?1 AND tenant = ?2
  AND (?4 ->> 'name' IS NULL OR (name, conversation_id) > (?4 ->> 'name', ?4 ->> 'conversation_id'))
  AND (?3 ->> 'conversation_id' IS NULL OR conversation_id = ?3 ->> 'conversation_id')
  AND (?3 ->> 'prefix' IS NULL OR substr(name, 1, length(?3 ->> 'prefix')) = ?3 ->> 'prefix')
ORDER BY name, conversation_id LIMIT ?5;
