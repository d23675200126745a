-- What the program asks; how it writes is in 002_append.sql and 003_verbs.sql.

-- name: installed
-- The schema that is there: 0 none or empty, -1 someone else's, else the number of ours.
SELECT CASE
    WHEN to_regclass('onrecord.migration') IS NOT NULL AND to_regclass('onrecord.event') IS NOT NULL
        THEN 1
    WHEN EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('onrecord')) THEN -1
    ELSE 0
END

-- name: schema_version
-- Asked only where `installed` says 1.
SELECT coalesce(max(number), 0) FROM onrecord.migration

-- name: create_schema
-- Apart from the migrations: an owner may have made it for a role that may not.
CREATE SCHEMA IF NOT EXISTS onrecord

-- name: schema_exists
-- CREATE SCHEMA IF NOT EXISTS asks for the right to create one even where it exists.
SELECT to_regnamespace('onrecord') IS NOT NULL

-- name: migration_lock
-- One migrates at a time; the others wait and find it done.
SELECT pg_advisory_xact_lock(1212239443, -1)

-- name: migration_patience
-- Who waits for a table's lock holds up all who come after it: a dump of the log may take hours.
SELECT set_config('lock_timeout', '2s', true)

-- name: migrated
-- In the transaction of the migration itself.
INSERT INTO onrecord.migration (number) VALUES ($1)

-- name: identity
-- What a new connection has to know: the log may have moved to another server meanwhile.
SELECT onrecord.incarnation(), m.key FROM onrecord.meta AS m

-- name: append
-- The cast tells the type, so that the requests can come in their binary form.
SELECT a.verdict, a.first_version, a.last_version, a.last_position
FROM onrecord.append($1::onrecord.request[]) AS a ORDER BY a.place

-- name: read
-- The shard comes from the head: every key begins with it.
SELECT shard, position, conversation_id, version, exchange, event_id, type, schema_version,
    recorded_at, header, digest, leaf, salt, body
FROM onrecord.event
WHERE shard = (SELECT shard FROM onrecord.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND version > $2 AND version <= $3
ORDER BY version LIMIT $4

-- name: tell
-- What a fold takes; the edge of a window by the partial index, none if it was not opened.
SELECT conversation_id, version, uuid_send(event_id), type, schema_version, recorded_at, body
FROM onrecord.event
WHERE shard = (SELECT shard FROM onrecord.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND version > $3 AND version <= $4
    AND version >= CASE WHEN $2 = 0 THEN -1 ELSE (
        SELECT version FROM onrecord.event
        WHERE shard = (SELECT shard FROM onrecord.conversation_head WHERE conversation_id = $1)
            AND conversation_id = $1 AND exchange = $2 AND opens_exchange) END
ORDER BY version LIMIT $5

-- name: read_log
-- Positions are dense, so a page ends where the shard does or after $3 events.
SELECT shard, position, conversation_id, version, exchange, event_id, type, schema_version,
    recorded_at, header, digest, leaf, salt, body
FROM onrecord.event WHERE shard = $1 AND position > $2 ORDER BY position LIMIT $3

-- name: last_position
-- An index lookup; the lists of shards and of tenants are short.
SELECT coalesce(
    (SELECT position FROM onrecord.event WHERE shard = $1 ORDER BY position DESC LIMIT 1), 0)

-- name: last_positions
-- Every shard, those without events too.
SELECT s.shard, coalesce(
    (SELECT position FROM onrecord.event WHERE shard = s.shard ORDER BY position DESC LIMIT 1), 0)
FROM onrecord.meta AS m, generate_series(0, m.shards - 1) AS s (shard) ORDER BY s.shard

-- name: head
-- Where a conversation stands.
SELECT version, exchange, open_calls, open_since, instructions, tools, request, adopted, amended,
    closed, input_tokens, output_tokens
FROM onrecord.conversation_head WHERE conversation_id = $1

-- name: latest
-- The partial index has only events that point.
SELECT shard, position, conversation_id, version, exchange, event_id, type, schema_version,
    recorded_at, header, digest, leaf, salt, body
FROM onrecord.event
WHERE shard = (SELECT shard FROM onrecord.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND pointer = $2 AND version <= $3
ORDER BY version DESC LIMIT $4

-- name: exchange_start
-- The partial index has only prompts that opened an exchange.
SELECT version FROM onrecord.event
WHERE shard = (SELECT shard FROM onrecord.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND exchange = $2 AND opens_exchange

-- name: open_conversation
-- Two processes that open one key at once get one id.
SELECT onrecord.open_conversation($1, $2, $3)

-- name: find_conversation
-- By the digest of its key.
SELECT conversation_id FROM onrecord.conversation_key
WHERE shard = (SELECT shard FROM onrecord.tenant WHERE tenant = $1) AND tenant = $1 AND key = $2

-- name: owner
-- Of a forgotten conversation too; a bound role sees its own tenant only.
SELECT tenant FROM onrecord.conversation_head WHERE conversation_id = $1

-- name: conversations
-- A tenant's events are in one shard, so positions say which conversation moved last.
SELECT version, exchange, open_calls, open_since, instructions, tools, request, adopted, amended,
    closed, input_tokens, output_tokens, conversation_id, started_at, recorded_at
FROM onrecord.conversation_head WHERE tenant = $1 ORDER BY position DESC

-- name: put_chunk
-- Each chunk is durable by itself; no transaction stays open while a file comes in.
SELECT onrecord.put_chunk($1, $2, $3, $4, $5)

-- name: seal_blob
-- From here on it is a blob that events can refer to.
SELECT onrecord.seal_blob($1, $2, $3, $4, $5)

-- name: blob
-- Which chunks are a blob's.
SELECT shard, blob_id FROM onrecord.blob WHERE conversation_id = $1 AND digest = $2

-- name: chunk
-- One at a time, so that no more than one is in memory.
SELECT data FROM onrecord.blob_chunk WHERE shard = $1 AND blob_id = $2 AND number = $3

-- name: sweep_blobs
-- Orphans of programs that ended between a blob and its event.
SELECT onrecord.sweep_blobs($1)

-- name: forget
-- One transaction: a conversation is forgotten or it is not.
SELECT onrecord.forget($1)

-- name: erasures
-- Callers that see one tenant only see this too.
SELECT onrecord.erasures()

-- name: erased
-- A bound role sees those of its tenant.
SELECT conversation_id FROM onrecord.erasure WHERE number > $1 ORDER BY number

-- name: stored_events
-- For `eventsourcing`; erased events have no state and are left out.
SELECT version, type, body FROM onrecord.event
WHERE shard = (SELECT shard FROM onrecord.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND version > $2 AND version <= $3 AND body IS NOT NULL
ORDER BY version LIMIT $4

-- name: last_stored_events
-- The same, the last one first.
SELECT version, type, body FROM onrecord.event
WHERE shard = (SELECT shard FROM onrecord.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND version > $2 AND version <= $3 AND body IS NOT NULL
ORDER BY version DESC LIMIT $4

-- name: notifications
-- A tenant's events, by position; no topics means all.
SELECT position, conversation_id, version, type, body FROM onrecord.event
WHERE shard = (SELECT shard FROM onrecord.tenant WHERE tenant = $1) AND tenant = $1
    AND position > $2 AND position <= $3 AND (cardinality($4::text[]) = 0 OR type = ANY ($4))
    AND body IS NOT NULL
ORDER BY position LIMIT $5

-- name: last_notification
-- The last position of a tenant; other tenants of its shard may be further.
SELECT position FROM onrecord.event
WHERE shard = (SELECT shard FROM onrecord.tenant WHERE tenant = $1) AND tenant = $1
ORDER BY position DESC LIMIT 1

-- name: track
-- No row comes back where the position is not beyond the one that was tracked.
INSERT INTO onrecord.tracking AS t (recorder, application, position) VALUES ($1, $2, $3)
ON CONFLICT (recorder, application) DO UPDATE SET position = excluded.position
WHERE t.position < excluded.position
RETURNING position

-- name: tracked
-- One row an application.
SELECT position FROM onrecord.tracking WHERE recorder = $1 AND application = $2

-- name: must_take
-- Before what no function of ours stores.
SELECT onrecord.must_take($1, $2)

-- name: insert_snapshot
-- No row comes back where there is one of that version.
INSERT INTO onrecord.snapshot (tenant, conversation_id, version, type, body)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING
RETURNING version

-- name: snapshots
-- In order of version.
SELECT version, type, body FROM onrecord.snapshot
WHERE tenant = $1 AND conversation_id = $2 AND version > $3 AND version <= $4
ORDER BY version LIMIT $5

-- name: last_snapshots
-- The last one first.
SELECT version, type, body FROM onrecord.snapshot
WHERE tenant = $1 AND conversation_id = $2 AND version > $3 AND version <= $4
ORDER BY version DESC LIMIT $5

-- name: hint
-- A row if somebody listens: who does holds this lock (`be_heard`). Its commit need not be durable.
SELECT set_config('synchronous_commit', 'off', true), pg_notify('onrecord', $1)
FROM (SELECT pg_try_advisory_xact_lock(1212239443, -3) AS unheard OFFSET 0) AS looked
WHERE NOT looked.unheard

-- name: listen
-- Before the lock is taken: from then on nothing is missed.
LISTEN onrecord

-- name: be_heard
-- Ends with the session, however that ends. Not the erasures' lock: one lasts as long as a follower.
SELECT pg_advisory_lock_shared(1212239443, -3)
