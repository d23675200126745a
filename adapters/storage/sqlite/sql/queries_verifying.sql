-- What `onrecord verify` reads: whole rows, of all tenants, and what no conversation has of its own.

-- name: begin_moment
-- A read transaction: what is read until its end is of one moment.
BEGIN;

-- name: inventory_log
-- In the order of the table; `begun` looks the head up by its key.
SELECT position, conversation_id, version, exchange, event_id, type, schema_version, recorded_at,
  header, digest, leaf, salt, body, points, once,
  EXISTS (
    SELECT 1 FROM conversation_head AS h
    WHERE h.conversation_id = event.conversation_id AND h.version >= event.version)
FROM event WHERE position > ? ORDER BY position LIMIT ?;

-- name: inventory_commitments
-- In the order of the table, and no other table.
SELECT position, version, recorded_at, header, digest, leaf, salt, body
FROM event WHERE position > ? ORDER BY position LIMIT ?;

-- name: inventory_events
-- By the index of versions, from 0 on: aggregates may begin there.
SELECT position, conversation_id, version, exchange, event_id, type, schema_version, recorded_at,
  header, digest, leaf, salt, body, points, once, 1
FROM event WHERE conversation_id = ? AND version > ? ORDER BY version LIMIT ?;

-- name: inventory_heads
-- In the order of the table, page by page.
SELECT conversation_id, tenant, position, started_at, recorded_at, forgotten, version, exchange, open_calls,
  instructions, tools, request, adopted, amended, closed, input_tokens, output_tokens
FROM conversation_head WHERE conversation_id > ? ORDER BY conversation_id LIMIT ?;

-- name: inventory_head
-- The same of one conversation.
SELECT conversation_id, tenant, position, started_at, recorded_at, forgotten, version, exchange, open_calls,
  instructions, tools, request, adopted, amended, closed, input_tokens, output_tokens
FROM conversation_head WHERE conversation_id = ?;

-- name: inventory_keys
-- By the index of conversations.
SELECT tenant, digest FROM conversation_key WHERE conversation_id = ? ORDER BY tenant, digest;

-- name: inventory_blobs
-- Those that are still arriving too.
SELECT number, tenant, sha256, referenced, stored_at FROM blob WHERE conversation_id = ? ORDER BY number;

-- name: inventory_chunk
-- The next one, whatever its number: one at a time, for it may be large.
SELECT ordinal, data FROM blob_piece WHERE blob = ? AND ordinal > ? ORDER BY ordinal LIMIT 1;

-- name: inventory_erasures
-- By the index of conversations.
SELECT count(*) FROM erasure WHERE conversation_id = ?;

-- name: inventory_snapshots
-- What they hold only the application can tell.
SELECT originator_version FROM snapshot WHERE originator_id = ? ORDER BY originator_version;

-- name: oddity_ids
-- No index finds what is not 16 bytes.
SELECT NULL, 'a row of conversation_head has no ids' WHERE EXISTS (
  SELECT 1 FROM conversation_head WHERE length(conversation_id) <> 16 OR length(tenant) <> 16)
UNION ALL
SELECT NULL, 'a row of conversation_key has no ids' WHERE EXISTS (
  SELECT 1 FROM conversation_key
  WHERE length(conversation_id) <> 16 OR length(tenant) <> 16 OR length(digest) <> 16)
UNION ALL
SELECT NULL, 'a row of blob has no ids' WHERE EXISTS (
  SELECT 1 FROM blob
  WHERE length(conversation_id) <> 16 OR length(tenant) <> 16 OR length(sha256) <> 32);

-- name: oddity_flags
-- They are numbers to SQLite.
SELECT conversation_id, 'its head has a flag that is neither 0 nor 1' FROM conversation_head
WHERE closed NOT IN (0, 1) OR forgotten NOT IN (0, 1)
UNION ALL
SELECT conversation_id, 'a blob of it has a flag that is neither 0 nor 1' FROM blob
WHERE referenced NOT IN (0, 1);

-- name: oddity_meta
-- One row, made with the file.
SELECT NULL, 'the row of meta is not as it was made' WHERE NOT EXISTS (
  SELECT 1 FROM meta WHERE length(incarnation) = 16 AND length(digest_key) = 32
    AND unemptied IN (0, 1));

-- name: oddity_erasures
-- Numbered from 1 without gaps.
SELECT NULL, 'erasures are not numbered from 1 without gaps'
WHERE (SELECT count(*) <> coalesce(max(number), 0) OR min(number) < 1 FROM erasure);

-- name: erased_unbegun
-- Documents or a key of them were erased before anything was said.
SELECT DISTINCT conversation_id FROM erasure
WHERE conversation_id NOT IN (SELECT conversation_id FROM conversation_head);

-- name: oddity_blobs
-- Of what has not begun, or is still arriving, nothing can refer to a blob.
SELECT conversation_id, 'it refers to a blob, and it has not begun' FROM blob
WHERE referenced <> 0
  AND (sha256 IS NULL OR conversation_id NOT IN (SELECT conversation_id FROM conversation_head));

-- name: oddity_pieces
-- No foreign key holds where somebody turned them off.
SELECT NULL, 'a part of a blob belongs to no blob' WHERE EXISTS (
  SELECT 1 FROM blob_piece WHERE blob NOT IN (SELECT number FROM blob));

-- name: oddity_snapshots
-- An aggregate has events.
SELECT originator_id, 'it has a snapshot and no events' FROM snapshot
WHERE originator_id NOT IN (SELECT conversation_id FROM conversation_head);

-- name: oddity_tracking
-- Nobody can have followed what is not there.
SELECT NULL, 'a follower has tracked a position that the log does not have' WHERE EXISTS (
  SELECT 1 FROM tracking
  WHERE notification_id < 1 OR notification_id > (SELECT coalesce(max(position), 0) FROM event));

-- name: oddity_places
-- Whoever reads the log begins at 1, so what is before is read by conversation only.
SELECT conversation_id, 'an event of it is at position ' || position || ', and positions begin at 1'
FROM event WHERE position < 1;

-- name: schema_objects
-- What the migrations made: tables, indexes, and the triggers that keep events as they are. Only what
-- ANALYZE makes is left out, for anybody can name a table `sqlite_...` by writable_schema.
SELECT type, name, tbl_name, sql FROM sqlite_schema
WHERE (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat2', 'sqlite_stat3', 'sqlite_stat4')) IS NOT TRUE
ORDER BY type, name;

-- name: file_faults
-- Each page, and each index against its table; its sentences name rows by number and show no value.
PRAGMA integrity_check(20);

-- name: unbegun_keys
-- Names that somebody asked for, and said nothing yet.
SELECT count(*) FROM conversation_key
WHERE conversation_id NOT IN (SELECT conversation_id FROM conversation_head);

-- name: unbegun_blobs
-- Documents that no event came after yet.
SELECT count(*) FROM blob WHERE sha256 IS NULL
  OR conversation_id NOT IN (SELECT conversation_id FROM conversation_head);
