-- name: place
-- The server and the database, as the log's own query says where the log is.
SELECT s.system_identifier, d.oid::bigint
FROM pg_control_system() AS s, pg_database AS d WHERE d.datname = current_database()

-- name: schema_is_a_word
-- Of SQL's own, which would have to stand in quotes everywhere: words differ between servers.
SELECT quote_ident('{keys}') <> '{keys}'

-- name: tables
-- What is in the schema, which its catalogue tells to any role.
SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = '{keys}' AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')

-- name: schema_exists
-- An owner may have made it for a role that may make none.
SELECT to_regnamespace('{keys}') IS NOT NULL

-- name: create_schema
-- In the transaction of the first step.
CREATE SCHEMA {keys}

-- name: made_of
-- The steps that were applied.
SELECT number, digest FROM {keys}.migration ORDER BY number

-- name: note_migration
-- In the transaction of the step itself.
INSERT INTO {keys}.migration (number, digest) VALUES ($1, $2)

-- name: insert_meta
-- Once, when the schema is made.
INSERT INTO {keys}.meta (log) VALUES ($1)

-- name: select_log
-- Whose keys these are.
SELECT log FROM {keys}.meta

-- name: patience
-- How long this transaction waits for its turn.
SELECT set_config('lock_timeout', $1, true)

-- name: find
-- The key of a subject.
SELECT key_id, subject, generation, wrapped, created_at, destroyed_at FROM {keys}.subject_key
WHERE subject = $1

-- name: get
-- The key of an id, or what is left of it.
SELECT key_id, subject, generation, wrapped, created_at, destroyed_at FROM {keys}.subject_key
WHERE key_id = $1

-- name: under
-- The next ones to be wrapped anew.
SELECT key_id, subject, generation, wrapped, created_at, destroyed_at FROM {keys}.subject_key
WHERE wrapped IS NOT NULL AND generation = ANY ($1::text[]) LIMIT $2

-- name: generations
-- How many keys each has, how many of its keys were destroyed, and what became of it.
SELECT g.name, count(k.wrapped), count(k.destroyed_at), g.is_closed, g.retired_at IS NOT NULL,
    g.undoable_until
FROM {keys}.generation AS g LEFT JOIN {keys}.subject_key AS k ON k.generation = g.name
GROUP BY g.name ORDER BY g.name COLLATE "C"

-- name: add
-- The key that a subject has then.
SELECT key_id, subject, generation, wrapped, created_at, destroyed_at
FROM {keys}.add_key($1, $2, $3, $4, $5, $6)

-- name: destroy
-- What is left of it.
SELECT key_id, subject, generation, wrapped, created_at, destroyed_at
FROM {keys}.destroy_key($1, $2, $3)

-- name: replace
-- How many were.
SELECT {keys}.replace_keys($1, $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bytea[])

-- name: close_generation
-- It takes no more keys.
SELECT {keys}.close_generation($1, $2)

-- name: note_retired
-- It is gone.
SELECT {keys}.note_retired($1, $2, $3, $4)

-- name: scrub
-- New files, if the present ones may hold what was destroyed.
SELECT {keys}.scrub($1)
