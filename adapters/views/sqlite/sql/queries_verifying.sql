-- What is kept of a view, row by row as the table has it, for `onrecord verify --views`.

-- name: columns_of
-- ?1 the table: what is added to it later is compared too.
SELECT name FROM pragma_table_info(?1);

-- name: kept_builds
-- Each generation of each view, and its checkpoint.
SELECT view, number, revision, status, position FROM generation ORDER BY view, number;

-- name: kept_parked
-- ?1 view, ?2 generation: which conversations wait, and from which version on. They are few.
SELECT conversation_id, version FROM parked WHERE view = ?1 AND generation = ?2;

-- name: audit_kept
-- ?1 generation, ?2 conversation, ?3 the version behind which it goes on, ?4 limit.
SELECT * FROM view_audit
WHERE generation = ?1 AND conversation_id = ?2 AND version > ?3 ORDER BY version LIMIT ?4;

-- name: conversations_kept
-- ?1 generation, ?2 conversation, ?3 the version behind which it goes on, ?4 limit.
SELECT * FROM view_conversations
WHERE generation = ?1 AND conversation_id = ?2 AND version > ?3 ORDER BY version LIMIT ?4;

-- name: search_kept
-- ?1 generation, ?2 conversation, ?3 the version behind which it goes on, ?4 limit.
SELECT * FROM view_search
WHERE generation = ?1 AND conversation_id = ?2 AND version > ?3 ORDER BY version LIMIT ?4;

-- name: tool_ledger_kept
-- ?1 generation, ?2 conversation, ?3 the version behind which it goes on, ?4 limit: all rows of the last
-- version come with it.
SELECT * FROM view_tool_ledger
WHERE generation = ?1 AND conversation_id = ?2 AND version > ?3 AND version <= coalesce((
  SELECT version FROM view_tool_ledger
  WHERE generation = ?1 AND conversation_id = ?2 AND version > ?3
  ORDER BY version LIMIT 1 OFFSET ?4 - 1), 9223372036854775807)
ORDER BY version, ordinal;

-- name: window_kept
-- ?1 generation, ?2 conversation, ?3 the version behind which it goes on, ?4 limit.
SELECT * FROM view_window
WHERE generation = ?1 AND conversation_id = ?2 AND version > ?3 ORDER BY version LIMIT ?4;

-- name: usage_kept
-- ?1 generation: sums are of many conversations, so all of them are compared at once.
SELECT * FROM view_usage WHERE generation = ?1;

-- name: audit_conversations
-- ?1 generation, ?2 the id behind which it goes on, ?3 limit: of which conversations there are rows.
SELECT DISTINCT conversation_id FROM view_audit
WHERE generation = ?1 AND conversation_id > ?2 ORDER BY conversation_id LIMIT ?3;

-- name: conversations_conversations
-- ?1 generation, ?2 the id behind which it goes on, ?3 limit: of which conversations there are rows.
SELECT DISTINCT conversation_id FROM view_conversations
WHERE generation = ?1 AND conversation_id > ?2 ORDER BY conversation_id LIMIT ?3;

-- name: search_conversations
-- ?1 generation, ?2 the id behind which it goes on, ?3 limit: of which conversations there are rows.
SELECT DISTINCT conversation_id FROM view_search
WHERE generation = ?1 AND conversation_id > ?2 ORDER BY conversation_id LIMIT ?3;

-- name: tool_ledger_conversations
-- ?1 generation, ?2 the id behind which it goes on, ?3 limit: of which conversations there are rows.
SELECT DISTINCT conversation_id FROM view_tool_ledger
WHERE generation = ?1 AND conversation_id > ?2 ORDER BY conversation_id LIMIT ?3;

-- name: window_conversations
-- ?1 generation, ?2 the id behind which it goes on, ?3 limit: of which conversations there are rows.
SELECT DISTINCT conversation_id FROM view_window
WHERE generation = ?1 AND conversation_id > ?2 ORDER BY conversation_id LIMIT ?3;

-- name: audit_generations
-- Of which generations there are rows.
SELECT DISTINCT generation FROM view_audit;

-- name: conversations_generations
-- Of which generations there are rows.
SELECT DISTINCT generation FROM view_conversations;

-- name: search_generations
-- Of which generations there are rows.
SELECT DISTINCT generation FROM view_search;

-- name: tool_ledger_generations
-- Of which generations there are rows.
SELECT DISTINCT generation FROM view_tool_ledger;

-- name: window_generations
-- Of which generations there are rows.
SELECT DISTINCT generation FROM view_window;

-- name: usage_generations
-- Of which generations there are rows.
SELECT DISTINCT generation FROM view_usage;

-- name: check_words
-- Raises SQLITE_CORRUPT_VTAB where the index is not that of the rows (www.sqlite.org/fts5.html, "The
-- 'integrity-check' Command"). It changes nothing, and is an INSERT all the same.
INSERT INTO view_search_words (view_search_words, rank) VALUES ('integrity-check', 1);

-- name: file_faults
-- Each page, and each index against its table; its sentences name rows by number and show no value.
PRAGMA integrity_check(20);
