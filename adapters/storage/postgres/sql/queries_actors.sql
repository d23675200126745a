-- name: keep_actor_name
-- A function, for a right to INSERT would let a role name another tenant's actors.
SELECT {log}.keep_actor_name($1, $2, $3, $4)

-- name: actor_names
-- Those of a page, at one go.
SELECT digest, name FROM {log}.actor_name WHERE tenant = $1 AND digest = ANY ($2)

-- name: stored_actor_names
-- A page of all that the role sees, for verifying.
SELECT tenant, digest, actor_id, name FROM {log}.actor_name
WHERE (tenant, digest) > ($1, $2) ORDER BY tenant, digest LIMIT $3
