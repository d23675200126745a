-- name: keep_actor_name
-- The name that a digest is of never changes, so the first one stays.
INSERT INTO actor_name (tenant, digest, actor_id, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: actor_name
-- One at a time, by the key.
SELECT name FROM actor_name WHERE tenant = ? AND digest = ?;

-- name: forget_actor_name
-- By the id that only an actor has: of conversations there is no such row.
DELETE FROM actor_name WHERE actor_id = ?;

-- name: stored_actor_names
-- A page of all, for verifying.
SELECT tenant, digest, actor_id, name FROM actor_name
WHERE (tenant, digest) > (?, ?) ORDER BY tenant, digest LIMIT ?;
