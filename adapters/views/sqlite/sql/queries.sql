-- The control tables of views: 001_views.sql explains them.

-- name: prepare_connection
-- NORMAL syncs when the write-ahead log is emptied: a power cut may take the last commits, rows and
-- checkpoint alike, and they are folded again. secure_delete overwrites what is erased.
PRAGMA synchronous = NORMAL;
PRAGMA secure_delete = ON;
PRAGMA trusted_schema = OFF;
PRAGMA temp_store = MEMORY;

-- name: begin
-- The write lock is taken at once, so that a commit can no longer fail for it.
BEGIN IMMEDIATE;

-- name: commit
-- Rows and checkpoint at once.
COMMIT;

-- name: rollback
-- After an error nothing of the transaction stays.
ROLLBACK;

-- name: blocked
-- ?1 view, ?2 generation, ?3 conversations as a JSON array: those that wait behind a parked event.
SELECT conversation_id FROM parked
WHERE view = ?1 AND generation = ?2 AND conversation_id IN (SELECT value FROM json_each(?3));

-- name: keeps_migrations
-- A file from before the first release does not.
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'migration';

-- name: select_migrations
-- What the file was made of.
SELECT number, digest FROM migration ORDER BY number;

-- name: note_migration
-- In the transaction of the step itself.
INSERT INTO migration (number, digest) VALUES (?, ?);
