-- name: prepare_connection
-- FULL syncs the write-ahead log at every commit; secure_delete overwrites what is destroyed.
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA trusted_schema = OFF;
PRAGMA temp_store = MEMORY;

-- name: enter_wal
-- Readers do not wait for the writer; the mode stays with the file.
PRAGMA journal_mode = WAL;

-- name: schema_version
-- The number of the last step that was applied; 0 for a new file.
PRAGMA user_version;

-- name: application_id
-- Whose file it is, as the write-ahead log has it.
PRAGMA application_id;

-- name: count_objects
-- Whether anything is in it.
SELECT count(*) FROM sqlite_schema;

-- name: begin
-- The write lock is taken at once, so that a commit can no longer fail for it.
BEGIN IMMEDIATE;

-- name: commit
-- Returns when the write-ahead log is on the disk.
COMMIT;

-- name: rollback
-- After an error nothing of the transaction stays.
ROLLBACK;

-- name: write_anew
-- Rows that were moved from page to page leave copies that secure_delete does not reach.
VACUUM;

-- name: empty_wal
-- The write-ahead log still holds pages as they were.
PRAGMA wal_checkpoint(TRUNCATE);

-- name: note_migration
-- In the transaction of the step itself.
INSERT INTO migration (number, digest) VALUES (?, ?);

-- name: insert_meta
-- Once, when the file is made.
INSERT INTO meta (one, log) VALUES (1, ?);

-- name: select_log
-- Whose keys these are.
SELECT log FROM meta;

-- name: mark_residue
-- With what destroys or replaces a key.
UPDATE meta SET residue = 1;

-- name: unmark_residue
-- When file and write-ahead log were written anew.
UPDATE meta SET residue = 0;

-- name: has_residue
-- Whether there is something to write anew.
SELECT residue FROM meta;

-- name: find
-- The key of a subject.
SELECT key_id, subject, generation, wrapped, created_at, destroyed_at FROM subject_key
WHERE subject = ?;

-- name: get
-- The key of an id, or what is left of it.
SELECT key_id, subject, generation, wrapped, created_at, destroyed_at FROM subject_key
WHERE key_id = ?;

-- name: know_generation
-- With the first key that is wrapped under it.
INSERT INTO generation (name) VALUES (?) ON CONFLICT DO NOTHING;

-- name: is_closed
-- Whether a generation takes no more keys.
SELECT is_closed FROM generation WHERE name = ?;

-- name: insert_key
-- The one of whoever is first.
INSERT INTO subject_key (key_id, subject, generation, wrapped, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (subject) DO NOTHING;

-- name: destroy
-- What is left says neither what the key was nor whose.
UPDATE subject_key SET wrapped = NULL, subject = NULL, destroyed_at = ?
WHERE key_id = ? AND destroyed_at IS NULL;

-- name: replace
-- Unless it was destroyed or replaced meanwhile.
UPDATE subject_key SET generation = ?, wrapped = ?
WHERE key_id = ? AND generation = ? AND wrapped = ?;

-- name: under
-- The next ones to be wrapped anew; a JSON array names the generations.
SELECT key_id, subject, generation, wrapped, created_at, destroyed_at FROM subject_key
WHERE wrapped IS NOT NULL AND generation IN (SELECT value FROM json_each(?)) LIMIT ?;

-- name: generations
-- How many keys each has, how many of its keys were destroyed, and what became of it.
SELECT name, count(wrapped), count(destroyed_at), is_closed, retired_at IS NOT NULL,
  undoable_until
FROM generation LEFT JOIN subject_key ON generation = name
GROUP BY name ORDER BY name;

-- name: close_generation
-- For good: its name never comes again.
UPDATE generation SET is_closed = 1 WHERE name = ?;

-- name: note_retired
-- The first time counts.
UPDATE generation SET retired_at = ?, undoable_until = ?
WHERE name = ? AND is_closed AND retired_at IS NULL;
