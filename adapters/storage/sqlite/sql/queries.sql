-- name: prepare_connection
-- FULL syncs the write-ahead log at every commit; secure_delete overwrites what is erased.
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA trusted_schema = OFF;
PRAGMA temp_store = MEMORY;

-- name: flush_later
-- The next commit is synced with the one behind it, for the write-ahead log is one file.
PRAGMA synchronous = NORMAL;

-- name: flush_now
-- The next commit is synced by itself, with all that came before it.
PRAGMA synchronous = FULL;

-- name: enter_wal
-- Readers do not wait for the writer; the mode stays with the file.
PRAGMA journal_mode = WAL;

-- name: schema_version
-- The number of the last migration that was applied; 0 for a new file.
PRAGMA user_version;

-- name: alone
-- The next look takes the file for this connection alone, without an index of the write-ahead log:
-- SQLite gives it to nobody while another connection has the file open.
PRAGMA locking_mode = EXCLUSIVE;

-- name: begin
-- The write lock is taken at once, so that a commit can no longer fail for it.
BEGIN IMMEDIATE;

-- name: commit
-- Returns when the write-ahead log is on the disk.
COMMIT;

-- name: rollback
-- After an error nothing of the transaction stays.
ROLLBACK;

-- name: empty_wal
-- The write-ahead log still holds pages as they were before an erasure.
PRAGMA wal_checkpoint(TRUNCATE);

-- name: insert_meta
-- Once, when the file is made.
INSERT INTO meta (one, incarnation, identity, digest_key) VALUES (1, ?, ?, ?);

-- name: mark_unemptied
-- With the erasure itself: whoever opens the file next finishes what could not be. secure_delete
-- overwrites rows where they stand; of rows that were moved to other pages, when pages were split or
-- joined, the copies stay in what is free of the pages of before (SQLite's balance()).
UPDATE meta SET unemptied = 1, residue = 1;

-- name: unmark_unemptied
-- When the write-ahead log was emptied.
UPDATE meta SET unemptied = 0;

-- name: has_residue
-- Whether the file is to be written anew.
SELECT residue FROM meta;

-- name: unmark_residue
-- When it was, and the write-ahead log emptied.
UPDATE meta SET residue = 0;

-- name: write_anew
-- What is written is rows alone: a temporary file holds nothing that was erased, and memory would not
-- hold a large log.
PRAGMA temp_store = FILE;
VACUUM;

-- name: is_unemptied
-- Whether something is left to finish.
SELECT unemptied FROM meta;

-- name: select_meta
-- Whose file this is, and the key of its digests.
SELECT identity, digest_key FROM meta;

-- name: update_incarnation
-- The file was copied or restored: old cursors must not be served.
UPDATE meta SET incarnation = ?, identity = ?;

-- name: renew_incarnation
-- The log was cut while it was open.
UPDATE meta SET incarnation = ?;

-- name: leaf_at
-- Whether the log is still the one that was marked there.
SELECT leaf FROM event WHERE position = ?;

-- name: log_end
-- Which log it is, whether it is encrypted, where it ends, its clock, and what the mark beside the file says of
-- it; the last three are NULL where it is empty.
SELECT incarnation, encrypted, position, recorded_at, leaf FROM meta
LEFT JOIN event ON position = (SELECT max(position) FROM event);

-- name: select_headers
-- Page by page: what tells whether conversations are in clear.
SELECT position, type, header FROM event WHERE position > ? ORDER BY position LIMIT ?;

-- name: mark_encrypted
-- In the transaction that looked at the headers.
UPDATE meta SET encrypted = 1;

-- name: known_by_id
-- Is a retry of what was recorded before.
SELECT conversation_id, version, type, salt, digest FROM event WHERE event_id = ?;

-- name: known_by_once
-- Is a fact that the conversation holds already, under whatever event id.
SELECT conversation_id, version, type, salt, digest FROM event
WHERE conversation_id = ? AND once = ?;

-- name: insert_event
-- The columns in the order of the table.
INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: select_head
-- One row, whatever the length of the conversation.
SELECT version, exchange, open_calls, instructions, tools, request, adopted, amended, closed,
  input_tokens, output_tokens
FROM conversation_head WHERE conversation_id = ?;

-- name: select_progress
-- The same with the log that it is in, and how often something was erased there.
SELECT incarnation, (SELECT coalesce(max(number), 0) FROM erasure), version, exchange, open_calls,
  instructions, tools, request, adopted, amended, closed, input_tokens, output_tokens
FROM meta LEFT JOIN conversation_head ON conversation_id = ?;

-- name: select_place
-- The same for a writer: whose it is, and whether it takes anything.
SELECT tenant, forgotten, version, exchange, open_calls, instructions, tools, request, adopted, amended, closed,
  input_tokens, output_tokens
FROM conversation_head WHERE conversation_id = ?;

-- name: upsert_head
-- In the transaction of the events that moved it; tenant and start stay as they were. `closed` is not
-- among them: SQLite writes each index anew that has a column which is set, even to the same value.
INSERT INTO conversation_head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
ON CONFLICT (conversation_id) DO UPDATE SET
  position = excluded.position,
  recorded_at = excluded.recorded_at,
  version = excluded.version,
  exchange = excluded.exchange,
  open_calls = excluded.open_calls,
  instructions = excluded.instructions,
  tools = excluded.tools,
  request = excluded.request,
  adopted = excluded.adopted,
  amended = excluded.amended,
  input_tokens = excluded.input_tokens,
  output_tokens = excluded.output_tokens;

-- name: close_head
-- After `upsert_head`, where an event closes the conversation. It is never opened again.
UPDATE conversation_head SET closed = 1 WHERE conversation_id = ? AND closed = 0;

-- name: select_conversation
-- A part of a conversation, by its index: after, until, limit.
SELECT position, conversation_id, version, exchange, event_id, type, schema_version, recorded_at,
  header, digest, leaf, salt, body
FROM event WHERE conversation_id = ? AND version > ? AND version <= ? ORDER BY version LIMIT ?;

-- name: select_told
-- From an exchange on: its edge is looked for from the end, among the rows that are read anyway.
SELECT version, event_id, type, schema_version, recorded_at, body FROM event
WHERE conversation_id = ?1 AND version > max(?3, coalesce((
    SELECT version FROM event
    WHERE ?2 > 0 AND conversation_id = ?1 AND version <= ?4 AND exchange < ?2
    ORDER BY version DESC LIMIT 1), -1))
  AND version <= ?4
ORDER BY version LIMIT ?5;

-- name: select_log
-- A part of the log, in the order of the table itself.
SELECT position, conversation_id, version, exchange, event_id, type, schema_version, recorded_at,
  header, digest, leaf, salt, body
FROM event WHERE position > ? ORDER BY position LIMIT ?;

-- name: select_pointed
-- What was in force at a version, by the partial index.
SELECT position, conversation_id, version, exchange, event_id, type, schema_version, recorded_at,
  header, digest, leaf, salt, body
FROM event WHERE conversation_id = ? AND points = ? AND version <= ?
ORDER BY version DESC LIMIT ?;

-- name: select_exchange_start
-- The first version of an exchange, searched by halves: version `low` is before it, `high` is not.
WITH RECURSIVE half (low, high) AS (
  SELECT (SELECT min(version) - 1 FROM event WHERE conversation_id = ?1),
    (SELECT max(version) FROM event WHERE conversation_id = ?1)
  UNION ALL
  SELECT iif(exchange < ?2, version, low), iif(exchange < ?2, high, version)
  FROM half CROSS JOIN event ON conversation_id = ?1 AND version = (low + high) / 2
  WHERE high - low > 1
)
SELECT high FROM half CROSS JOIN event ON conversation_id = ?1 AND version = high
WHERE high - low = 1 AND exchange = ?2 AND exchange > 0;

-- name: select_key
-- The caller's name, as its digest.
SELECT conversation_id FROM conversation_key WHERE tenant = ? AND digest = ?;

-- name: insert_key
-- A name stands for one conversation until it is forgotten: no row where it does already.
INSERT INTO conversation_key (tenant, digest, conversation_id) VALUES (?, ?, ?)
ON CONFLICT DO NOTHING RETURNING conversation_id;

-- name: select_conversations
-- The catalogue, the one that moved last first.
SELECT conversation_id, started_at, recorded_at, version, exchange, open_calls,
  instructions, tools, request, adopted, amended, closed, input_tokens, output_tokens
FROM conversation_head WHERE tenant = ? ORDER BY position DESC;

-- name: open_conversations
-- By the partial index, so the closed ones cost nothing.
SELECT conversation_id FROM conversation_head WHERE tenant = ? AND closed = 0 ORDER BY conversation_id;

-- name: insert_blob
-- Without its digest: that is known when the last byte has come.
INSERT INTO blob (tenant, conversation_id, stored_at, boot, uptime) VALUES (?, ?, ?, ?, ?)
RETURNING number;

-- name: insert_piece
-- At most 1 MiB, committed on its own, so that no writer waits for a slow upload.
INSERT INTO blob_piece (blob, ordinal, data) VALUES (?, ?, ?);

-- name: touch_blob
-- It is in use: the sweep must not take it yet.
UPDATE blob SET stored_at = ?2, boot = ?3, uptime = ?4 WHERE number = ?1;

-- name: select_blob
-- The same bytes are stored once in a conversation.
SELECT number FROM blob WHERE conversation_id = ? AND sha256 = ?;

-- name: complete_blob
-- From here on it can be read.
UPDATE blob SET sha256 = ?2, stored_at = ?3, boot = ?4, uptime = ?5 WHERE number = ?1;

-- name: delete_blob
-- Its pieces go with it.
DELETE FROM blob WHERE number = ?;

-- name: refer_to_blob
-- An event refers to it from now on: no sweep takes it.
UPDATE blob SET referenced = 1 WHERE conversation_id = ? AND sha256 = ? AND referenced = 0;

-- name: select_piece
-- One row at a time, so that no reader holds a snapshot while its caller is busy.
SELECT data FROM blob_piece WHERE blob = ? AND ordinal = ?;

-- name: sweep_blobs
-- What no event refers to; an upload that broke off never gets a digest. ?1 is how old it is at
-- least, by the time of day (?2) and by how long the machine has run (?4) since a start (?3).
-- The time of day says nothing of what was stored later than now: a clock was set. Of what was
-- stored before the machine started it is at least as old as that.
DELETE FROM blob WHERE referenced = 0 AND CASE
  WHEN boot = ?3 AND uptime <= ?4
    THEN uptime <= ?4 - ?1 AND (stored_at <= ?2 - ?1 OR stored_at > ?2)
  ELSE stored_at <= ?2 - ?1 OR ?3 <> boot AND ?4 >= ?1
END;

-- name: forget_events
-- All that an event says; that it was said stays.
UPDATE event SET salt = NULL, body = NULL, once = NULL
WHERE conversation_id = ? AND body IS NOT NULL;

-- name: forget_blobs
-- Also those that are still arriving.
DELETE FROM blob WHERE conversation_id = ?;

-- name: forget_key
-- The name may be used again, for another conversation.
DELETE FROM conversation_key WHERE conversation_id = ?;

-- name: forget_head
-- The ids of calls are content; the mark refuses what would come later.
UPDATE conversation_head SET forgotten = 1, open_calls = '{}' WHERE conversation_id = ?;

-- name: forget_snapshots
-- They repeat what the events said.
DELETE FROM snapshot WHERE originator_id = ?;

-- name: insert_erasure
-- Numbered without gaps, for nothing is ever deleted here.
INSERT INTO erasure (conversation_id) VALUES (?);

-- name: last_erasure
-- How many there were.
SELECT coalesce(max(number), 0) FROM erasure;

-- name: erased
-- What views have to do after the log.
SELECT conversation_id FROM erasure WHERE number > ? ORDER BY number;

-- name: stored_events
-- An aggregate of `eventsourcing`, without what was erased.
SELECT version, type, body FROM event
WHERE conversation_id = ? AND version > ? AND version <= ? AND body IS NOT NULL
ORDER BY version LIMIT ?;

-- name: last_stored_events
-- The same, the last one first.
SELECT version, type, body FROM event
WHERE conversation_id = ? AND version > ? AND version <= ? AND body IS NOT NULL
ORDER BY version DESC LIMIT ?;

-- name: notifications
-- An application is a tenant of the log; the topics are a JSON array, an empty one means all.
-- CROSS JOIN keeps the order of the tables, so the log is read on from a position.
SELECT event.position, conversation_id, event.version, type, body
FROM event CROSS JOIN conversation_head USING (conversation_id)
WHERE tenant = ?1 AND event.position > ?2 AND event.position <= ?3 AND body IS NOT NULL
  AND (?4 = '[]' OR type IN (SELECT value FROM json_each(?4)))
ORDER BY event.position LIMIT ?5;

-- name: last_notification
-- From the end of the log on, where a tenant's last event is seldom far.
SELECT event.position FROM event CROSS JOIN conversation_head USING (conversation_id)
WHERE tenant = ? ORDER BY event.position DESC LIMIT 1;

-- name: insert_snapshot
-- No row where there is one of that version already.
INSERT INTO snapshot (originator_id, originator_version, topic, state) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING originator_version;

-- name: snapshots
-- Those of one aggregate.
SELECT originator_version, topic, state FROM snapshot
WHERE originator_id = ? AND originator_version > ? AND originator_version <= ?
ORDER BY originator_version LIMIT ?;

-- name: last_snapshots
-- The same, the last one first.
SELECT originator_version, topic, state FROM snapshot
WHERE originator_id = ? AND originator_version > ? AND originator_version <= ?
ORDER BY originator_version DESC LIMIT ?;

-- name: track
-- No row unless it is further than before.
INSERT INTO tracking (tenant, follower, application, notification_id) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant, follower, application) DO UPDATE SET notification_id = excluded.notification_id
WHERE notification_id < excluded.notification_id
RETURNING notification_id;

-- name: tracked
-- How far an application was followed.
SELECT notification_id FROM tracking WHERE tenant = ? AND follower = ? AND application = ?;

-- name: keeps_migrations
-- A file from before the first release does not.
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'migration';

-- name: select_migrations
-- What the file was made of.
SELECT number, digest FROM migration ORDER BY number;

-- name: note_migration
-- In the transaction of the step itself.
INSERT INTO migration (number, digest) VALUES (?, ?);
