-- What is kept of a view, row by row as the table has it, for `onrecord verify --views`.

-- name: kept_builds
-- Each generation of each view.
SELECT g.view, g.number, g.revision, g.status FROM {log}.generation AS g ORDER BY g.view, g.number

-- name: kept_positions
-- Every checkpoint: how far a generation has come in a part of a shard.
SELECT c.view, c.generation, c.shard, c.part, c.position FROM {log}.checkpoint AS c

-- name: kept_parked
-- $1 view, $2 generation: which conversations wait, and from which version on. They are few.
SELECT p.conversation_id, p.version FROM {log}.parked AS p WHERE p.view = $1 AND p.generation = $2

-- name: audit_kept
-- $1 generation, $2 conversation, $3 the version behind which it goes on, $4 limit.
SELECT to_jsonb(v) FROM {log}.view_audit AS v
WHERE v.generation = $1 AND v.conversation_id = $2 AND v.version > $3
ORDER BY v.version LIMIT $4

-- name: conversations_kept
-- $1 generation, $2 conversation, $3 the version behind which it goes on, $4 limit.
SELECT to_jsonb(v) FROM {log}.view_conversations AS v
WHERE v.generation = $1 AND v.conversation_id = $2 AND v.version > $3
ORDER BY v.version LIMIT $4

-- name: search_kept
-- $1 generation, $2 conversation, $3 the version behind which it goes on, $4 limit. Of the lexemes,
-- whether they are those of the words.
SELECT to_jsonb(v) || jsonb_build_object('lexemes',
    v.lexemes = array_to_tsvector(string_to_array(v.words, ' '))) FROM {log}.view_search AS v
WHERE v.generation = $1 AND v.conversation_id = $2 AND v.version > $3
ORDER BY v.version LIMIT $4

-- name: tool_ledger_kept
-- $1 generation, $2 conversation, $3 the version behind which it goes on, $4 limit: all rows of the last
-- version come with it.
SELECT to_jsonb(kept) FROM (
    SELECT v.* FROM {log}.view_tool_ledger AS v
    WHERE v.generation = $1 AND v.conversation_id = $2 AND v.version > $3
    ORDER BY v.version FETCH FIRST $4 ROWS WITH TIES
) AS kept ORDER BY kept.version, kept.ordinal

-- name: window_kept
-- $1 generation, $2 conversation, $3 the version behind which it goes on, $4 limit.
SELECT to_jsonb(v) FROM {log}.view_window AS v
WHERE v.generation = $1 AND v.conversation_id = $2 AND v.version > $3
ORDER BY v.version LIMIT $4

-- name: usage_kept
-- $1 generation: sums are of many conversations, so all of them are compared at once.
SELECT to_jsonb(v) FROM {log}.view_usage AS v WHERE v.generation = $1

-- name: audit_conversations
-- $1 generation, $2 the id behind which it goes on or null, $3 limit: of which conversations there are rows.
SELECT DISTINCT v.conversation_id FROM {log}.view_audit AS v
WHERE v.generation = $1 AND ($2::uuid IS NULL OR v.conversation_id > $2)
ORDER BY v.conversation_id LIMIT $3

-- name: conversations_conversations
-- $1 generation, $2 the id behind which it goes on or null, $3 limit: of which conversations there are rows.
SELECT DISTINCT v.conversation_id FROM {log}.view_conversations AS v
WHERE v.generation = $1 AND ($2::uuid IS NULL OR v.conversation_id > $2)
ORDER BY v.conversation_id LIMIT $3

-- name: search_conversations
-- $1 generation, $2 the id behind which it goes on or null, $3 limit: of which conversations there are rows.
SELECT DISTINCT v.conversation_id FROM {log}.view_search AS v
WHERE v.generation = $1 AND ($2::uuid IS NULL OR v.conversation_id > $2)
ORDER BY v.conversation_id LIMIT $3

-- name: tool_ledger_conversations
-- $1 generation, $2 the id behind which it goes on or null, $3 limit: of which conversations there are rows.
SELECT DISTINCT v.conversation_id FROM {log}.view_tool_ledger AS v
WHERE v.generation = $1 AND ($2::uuid IS NULL OR v.conversation_id > $2)
ORDER BY v.conversation_id LIMIT $3

-- name: window_conversations
-- $1 generation, $2 the id behind which it goes on or null, $3 limit: of which conversations there are rows.
SELECT DISTINCT v.conversation_id FROM {log}.view_window AS v
WHERE v.generation = $1 AND ($2::uuid IS NULL OR v.conversation_id > $2)
ORDER BY v.conversation_id LIMIT $3

-- name: audit_generations
-- Of which generations there are rows.
SELECT DISTINCT v.generation FROM {log}.view_audit AS v

-- name: conversations_generations
-- Of which generations there are rows.
SELECT DISTINCT v.generation FROM {log}.view_conversations AS v

-- name: search_generations
-- Of which generations there are rows.
SELECT DISTINCT v.generation FROM {log}.view_search AS v

-- name: tool_ledger_generations
-- Of which generations there are rows.
SELECT DISTINCT v.generation FROM {log}.view_tool_ledger AS v

-- name: window_generations
-- Of which generations there are rows.
SELECT DISTINCT v.generation FROM {log}.view_window AS v

-- name: usage_generations
-- Of which generations there are rows.
SELECT DISTINCT v.generation FROM {log}.view_usage AS v
