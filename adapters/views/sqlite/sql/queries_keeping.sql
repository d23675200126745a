-- How the views' file is made, what keeps its views, and how they stand.

-- name: is_made
-- None of an empty file, and of one that was just reset.
SELECT count(*) FROM sqlite_schema WHERE name = 'meta';

-- name: made_of
-- Of which log, and by how many migrations.
SELECT migrations, incarnation FROM meta;

-- name: set_made
-- ?1 how many migrations were applied, ?2 the log's incarnation, ?3 its erasures so far.
INSERT INTO meta (one, migrations, incarnation, erasures) VALUES (1, ?1, ?2, ?3)
ON CONFLICT (one) DO UPDATE SET migrations = excluded.migrations;

-- name: application_id
-- Whose file it is; it may still stand in the write-ahead log alone.
PRAGMA application_id;

-- name: count_objects
-- None where a file was emptied, to be made again.
SELECT count(*) FROM sqlite_schema;

-- name: check
-- The first fault, or `ok`.
PRAGMA quick_check(1);

-- name: enter_wal
-- Readers do not wait for whoever catches up; the mode stays with the file.
PRAGMA journal_mode = WAL;

-- name: reset
-- With SQLITE_DBCONFIG_RESET_DATABASE it leaves nothing, whatever was damaged.
VACUUM;

-- name: empty_wal
-- The write-ahead log still holds pages as they were before an erasure.
PRAGMA wal_checkpoint(TRUNCATE);

-- name: begin_reading
-- The page and how far it goes are of one moment.
BEGIN;

-- name: erasing
-- How many of the log's erasures were done here, and whether the last one is finished.
SELECT erasures, unemptied FROM meta;

-- name: set_erasures
-- ?1 those that were done; the write-ahead log is to be emptied, and the file to be written anew, for
-- copies of rows that were moved stay in the free space of pages.
UPDATE meta SET erasures = ?1, unemptied = 1, residue = 1;

-- name: has_residue
-- Whether the file is to be written anew.
SELECT residue FROM meta;

-- name: unmark_residue
-- When it was, and the write-ahead log emptied.
UPDATE meta SET residue = 0;

-- name: write_anew
-- By way of a temporary file, which holds rows alone.
PRAGMA temp_store = FILE;
VACUUM;

-- name: unmark_unemptied
-- When the write-ahead log was emptied.
UPDATE meta SET unemptied = 0;

-- name: retry_erased
-- ?1 conversation: what could not be folded says nothing any more, which can be.
UPDATE parked SET retry_at = 0 WHERE conversation_id = ?1;

-- name: insert_view
-- ?1 view: it is known from its first reading on.
INSERT INTO view (name) VALUES (?1) ON CONFLICT DO NOTHING;

-- name: select_view
-- ?1 view.
SELECT paused, stopped, resumed_at FROM view WHERE name = ?1;

-- name: pause_view
-- ?1 view.
UPDATE view SET paused = 1 WHERE name = ?1;

-- name: resume_view
-- ?1 view, ?2 now: failures before it open the circuit no more.
UPDATE view SET paused = 0, stopped = NULL, resumed_at = ?2 WHERE name = ?1;

-- name: stop_view
-- ?1 view, ?2 why.
UPDATE view SET stopped = ?2 WHERE name = ?1;

-- name: unstop_view
-- ?1 view: what could not be folded was folded in another generation.
UPDATE view SET stopped = NULL WHERE name = ?1;

-- name: select_generations
-- ?1 view: those that are kept.
SELECT number, revision, status, position FROM generation WHERE view = ?1 ORDER BY number;

-- name: begin_generation
-- ?1 view, ?2 revision, ?3 status, ?4 now.
INSERT INTO generation (view, number, revision, status, began_at, switched_at)
SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, CASE ?3 WHEN 'live' THEN ?4 END
FROM generation WHERE view = ?1;

-- name: move_checkpoint
-- ?1 view, ?2 generation, ?3 the position that was finished, ?4 the one before it.
UPDATE generation SET position = ?3 WHERE view = ?1 AND number = ?2 AND position = ?4;

-- name: retire_generation
-- ?1 view, ?2 generation.
UPDATE generation SET status = 'retired' WHERE view = ?1 AND number = ?2;

-- name: make_live
-- ?1 view, ?2 generation, ?3 now; after the one that was live is retired.
UPDATE generation SET status = 'live', switched_at = ?3 WHERE view = ?1 AND number = ?2;

-- name: drop_generation
-- ?1 view, ?2 generation: when its rows were swept; then its number may be used again.
DELETE FROM generation WHERE view = ?1 AND number = ?2;

-- name: drop_parked_of
-- ?1 view, ?2 generation.
DELETE FROM parked WHERE view = ?1 AND generation = ?2;

-- name: park
-- ?1 view, ?2 generation, ?3 conversation, ?4 tenant, ?5 position, ?6 version, ?7 type, ?8 kind,
-- ?9 error, ?10 attempts, ?11 now, ?12 when it is tried again.
INSERT INTO parked VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT DO UPDATE SET position = excluded.position, version = excluded.version,
  type = excluded.type, kind = excluded.kind, error = excluded.error,
  attempts = excluded.attempts, parked_at = excluded.parked_at, retry_at = excluded.retry_at;

-- name: unpark
-- ?1 view, ?2 generation, ?3 conversation.
DELETE FROM parked WHERE view = ?1 AND generation = ?2 AND conversation_id = ?3;

-- name: parked_due
-- ?1 view, ?2 generation, ?3 now: which is to be tried again first.
SELECT conversation_id, tenant, version, attempts FROM parked
WHERE view = ?1 AND generation = ?2 AND retry_at <= ?3 ORDER BY retry_at LIMIT 1;

-- name: parked_alike
-- ?1 view, ?2 generation, ?3 kind of error, ?4 since when.
SELECT count(*) FROM parked
WHERE view = ?1 AND generation = ?2 AND kind = ?3 AND parked_at >= ?4;

-- name: retry_parked
-- ?1 view, ?2 conversation, or null for all.
UPDATE parked SET retry_at = 0
WHERE view = ?1 AND conversation_id = coalesce(?2, conversation_id);

-- name: parked_of
-- ?1 view, or null for all; what waits in generations that are read or made.
SELECT p.view, p.generation, p.tenant, p.conversation_id, 0, p.position, p.version, p.type, p.kind,
  p.error, p.attempts, p.parked_at, p.retry_at
FROM parked AS p JOIN generation AS g ON g.view = p.view AND g.number = p.generation
WHERE g.status <> 'retired' AND p.view = coalesce(?1, p.view)
ORDER BY p.view, p.generation, p.position;

-- name: conversations_parked
-- ?1 view, ?2 generation, ?3 tenant.
SELECT conversation_id FROM parked WHERE view = ?1 AND generation = ?2 AND tenant = ?3;

-- name: count_parked
-- ?1 view, ?2 generation, ?3 tenant, or null for all.
SELECT count(*) FROM parked
WHERE view = ?1 AND generation = ?2 AND tenant = coalesce(?3, tenant);

-- name: refuse_writes
-- For statements that are not ours, which only read.
PRAGMA query_only = ON;

-- name: allow_writes
-- As before.
PRAGMA query_only = OFF;
