-- What the program asks; how it writes is in functions_append.sql and functions_verbs.sql.

-- name: installed
-- The schema that is there: 0 none or empty, -1 someone else's, -2 one of ours that was made before the
-- first release, 1 a release's.
SELECT CASE
    WHEN to_regclass('{log}.migration') IS NOT NULL AND to_regclass('{log}.event') IS NOT NULL
        THEN CASE WHEN EXISTS (
            SELECT FROM pg_attribute
            WHERE attrelid = to_regclass('{log}.migration') AND attname = 'digest'
        ) THEN 1 ELSE -2 END
    WHEN EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('{log}')) THEN -1
    ELSE 0
END

-- name: made_of
-- Asked only where `installed` says 1.
SELECT part, number, digest FROM {log}.migration

-- name: is_citus
-- The same files make the schema there, but for what it cannot take.
SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')

-- name: citus_settings
-- Citus warns of triggers on what is distributed by rows: ours are of tables that lie on one node.
SELECT set_config('citus.enable_unsafe_triggers', 'on', true)

-- name: coordinator
-- Asked on Citus only, as what follows. Where the coordinator is; no row comes back at itself.
SELECT n.nodename || ':' || n.nodeport FROM pg_dist_node AS n
WHERE n.groupid = 0 AND (SELECT l.groupid FROM pg_dist_local_group AS l) <> 0

-- name: is_distributed
-- A log that was made before Citus came is distributed at its next migration.
SELECT EXISTS (SELECT FROM citus_schemas WHERE schema_name = to_regnamespace('{log}'))

-- name: distribute
-- All tables go to one node, which Citus chooses, and those that come later too.
SELECT citus_schema_distribute('{log}')

-- name: citus_appends
-- It makes no generic plan of an INSERT ... SELECT.
ALTER FUNCTION {log}.append({log}.request[]) SET plan_cache_mode = force_custom_plan

-- name: citus_nesting
-- A function that asks a table, within a statement that asks another, Citus allows if it is told: all is
-- on one node. Functions without settings ask no table, and are put in the place of their call.
DO $$
DECLARE
    nested regprocedure;
BEGIN
    FOR nested IN
        SELECT p.oid::regprocedure FROM pg_proc AS p
        WHERE p.pronamespace = '{log}'::regnamespace AND p.proconfig IS NOT NULL
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET citus.allow_nested_distributed_execution = on', nested);
    END LOOP;
END $$

-- name: citus_statistics
-- Of shards, which no transaction that made or changed them can reach; false where one was not set.
SELECT coalesce(bool_and(r.success), true) FROM {log}.unstated_columns() AS u
CROSS JOIN LATERAL run_command_on_shards(u.in_table,
    format('ALTER TABLE %%s ALTER COLUMN %I SET STATISTICS 0', u.attname)) AS r

-- name: create_schema
-- Apart from the migrations: an owner may have made it for a role that may not.
CREATE SCHEMA IF NOT EXISTS {log}

-- name: schema_is_a_word
-- Of SQL's own, which would have to stand in quotes everywhere: words differ between servers.
SELECT quote_ident('{log}') <> '{log}'

-- name: schema_exists
-- CREATE SCHEMA IF NOT EXISTS asks for the right to create one even where it exists.
SELECT to_regnamespace('{log}') IS NOT NULL

-- name: migration_turn
-- How long one waits for another that migrates, or for a `sweep` that writes this table anew.
SELECT set_config('lock_timeout', '30s', true)

-- name: migration_lock
-- Of a log that is there. One migrates at a time; the others wait and find it done. Only the owner may.
LOCK TABLE {log}.migration IN EXCLUSIVE MODE

-- name: migration_patience
-- Who waits for a table's lock holds up all who come after it: a dump of the log may take hours.
SELECT set_config('lock_timeout', '2s', true)

-- name: joint_append_limits
-- Before an append that is not a statement by itself: for how long a process that was stopped amid it
-- may hold the lock of a shard, and for how long it waits for the lock.
SELECT set_config('idle_in_transaction_session_timeout', '5s', true),
    set_config('lock_timeout', '5s', true)

-- name: migrated
-- In the transaction of the migration itself.
INSERT INTO {log}.migration (part, number, digest) VALUES ($1, $2, $3)
ON CONFLICT (part, number) DO UPDATE SET digest = excluded.digest

-- name: bodies_unchecked
-- Until the end of the migration.
SELECT set_config('check_function_bodies', 'off', true)

-- name: identity
-- What a new connection has to know: the log may have moved to another server meanwhile.
SELECT i.incarnation, i.key, i.seal, i.tenant FROM {log}.identity() AS i

-- name: is_encrypted
-- By its mark, whatever events there are.
SELECT {log}.is_encrypted()

-- name: may_mark
-- Whether whoever connected was admitted as one who may append, or owns the log.
SELECT has_function_privilege('{log}.mark_encrypted()', 'EXECUTE')

-- name: mark_encrypted
-- Only who appends for conversations may.
SELECT {log}.mark_encrypted()

-- name: append
-- The cast tells the type, so that the requests can come in their binary form.
SELECT a.verdict, a.first_version, a.last_version, a.last_position
FROM {log}.append($1::{log}.request[]) AS a ORDER BY a.place

-- name: read
-- The shard comes from the head: every key begins with it.
SELECT shard, position, conversation_id, version, exchange, event_id, type, schema_version,
    recorded_at, header, digest, leaf, salt, body
FROM {log}.event
WHERE shard = (SELECT shard FROM {log}.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND version > $2 AND version <= $3
ORDER BY version LIMIT $4

-- name: first_events
-- Of several conversations. The limit has each looked up by its index, whatever the statistics say.
SELECT e.*
FROM {log}.conversation_head AS h
CROSS JOIN LATERAL (
    SELECT shard, position, conversation_id, version, exchange, event_id, type, schema_version,
        recorded_at, header, digest, leaf, salt, body
    FROM {log}.event
    WHERE shard = h.shard AND conversation_id = h.conversation_id AND version = 1 LIMIT 1) AS e
WHERE h.conversation_id = ANY ($1::uuid[])

-- name: tell
-- What a fold takes; the edge of a window by the partial index, none if it was not opened.
SELECT conversation_id, version, uuid_send(event_id), type, schema_version, recorded_at, body
FROM {log}.event
WHERE shard = (SELECT shard FROM {log}.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND version > $3 AND version <= $4
    AND version >= CASE WHEN $2 = 0 THEN -1 ELSE (
        SELECT version FROM {log}.event
        WHERE shard = (SELECT shard FROM {log}.conversation_head WHERE conversation_id = $1)
            AND conversation_id = $1 AND exchange = $2 AND opens_exchange) END
ORDER BY version LIMIT $5

-- name: read_log
-- Positions are dense, so a page ends where the shard does or after $3 events.
SELECT shard, position, conversation_id, version, exchange, event_id, type, schema_version,
    recorded_at, header, digest, leaf, salt, body
FROM {log}.event WHERE shard = $1 AND position > $2 ORDER BY position LIMIT $3

-- name: last_position
-- An index lookup; the lists of shards and of tenants are short.
SELECT coalesce(
    (SELECT position FROM {log}.event WHERE shard = $1 ORDER BY position DESC LIMIT 1), 0)

-- name: last_positions
-- Every shard, those without events too.
SELECT s.shard, coalesce(
    (SELECT position FROM {log}.event WHERE shard = s.shard ORDER BY position DESC LIMIT 1), 0)
FROM generate_series(0, {log}.shards() - 1) AS s (shard) ORDER BY s.shard

-- name: head
-- Where a conversation stands.
SELECT version, exchange, open_calls, open_since, instructions, tools, request, adopted, amended,
    closed, input_tokens, output_tokens
FROM {log}.conversation_head WHERE conversation_id = $1

-- name: progress
-- The same, how often something was erased, and the events that came: one look at all three.
SELECT n.erasures, h.version, h.exchange, h.open_calls, h.open_since, h.instructions, h.tools,
    h.request, h.adopted, h.amended, h.closed, h.input_tokens, h.output_tokens, e.*
FROM (SELECT {log}.erasures() AS erasures) AS n
LEFT JOIN {log}.conversation_head AS h ON h.conversation_id = $1
LEFT JOIN LATERAL (
    SELECT shard, position, conversation_id, version, exchange, event_id, type, schema_version,
        recorded_at, header, digest, leaf, salt, body
    FROM {log}.event
    WHERE shard = h.shard AND conversation_id = h.conversation_id AND version > $2
    ORDER BY version LIMIT $3) AS e ON true
ORDER BY e.version

-- name: pointed
-- The partial index has only events that point.
SELECT shard, position, conversation_id, version, exchange, event_id, type, schema_version,
    recorded_at, header, digest, leaf, salt, body
FROM {log}.event
WHERE shard = (SELECT shard FROM {log}.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND pointer = $2 AND version <= $3
ORDER BY version DESC LIMIT $4

-- name: exchange_start
-- The partial index has only prompts that opened an exchange.
SELECT version FROM {log}.event
WHERE shard = (SELECT shard FROM {log}.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND exchange = $2 AND opens_exchange

-- name: open_conversation
-- Two processes that open one key at once get one id.
SELECT {log}.open_conversation($1, $2, $3)

-- name: find_conversation
-- By the digest of its key.
SELECT conversation_id FROM {log}.conversation_key
WHERE shard = (SELECT shard FROM {log}.tenant WHERE tenant = $1) AND tenant = $1 AND key = $2

-- name: owner
-- Of a forgotten conversation too; a bound role sees its own tenant only.
SELECT tenant FROM {log}.conversation_head WHERE conversation_id = $1

-- name: conversations
-- A tenant's events are in one shard, so positions say which conversation moved last.
SELECT version, exchange, open_calls, open_since, instructions, tools, request, adopted, amended,
    closed, input_tokens, output_tokens, conversation_id, started_at, recorded_at
FROM {log}.conversation_head WHERE tenant = $1 ORDER BY position DESC

-- name: open_conversations
-- By the index of tenants, so the closed ones cost nothing.
SELECT conversation_id FROM {log}.conversation_head WHERE tenant = $1 AND NOT closed ORDER BY conversation_id

-- name: put_chunk
-- Each chunk is durable by itself; no transaction stays open while a file comes in.
SELECT {log}.put_chunk($1, $2, $3, $4, $5)

-- name: seal_blob
-- From here on it is a blob that events can refer to.
SELECT {log}.seal_blob($1, $2, $3, $4, $5)

-- name: blob
-- Which chunks are a blob's.
SELECT shard, blob_id FROM {log}.blob WHERE conversation_id = $1 AND digest = $2

-- name: chunk
-- One at a time, so that no more than one is in memory.
SELECT data FROM {log}.blob_chunk WHERE shard = $1 AND blob_id = $2 AND number = $3

-- name: sweep_blobs
-- Orphans of programs that ended between a blob and its event.
SELECT {log}.sweep_blobs($1)

-- name: residue
-- Whether pages of the tables' files hold what was erased, and which tables they are. They are taken from
-- the catalogue, views' tables included: a list by hand would lack the next one.
SELECT {log}.has_residue(), array(
    SELECT c.oid::regclass::text FROM pg_class AS c
    WHERE c.relnamespace = '{log}'::regnamespace AND c.relkind = 'r' ORDER BY c.oid::regclass::text)

-- name: write_anew
-- Statements that write each table anew, without the rows that are gone, and whether this role may run
-- them. A statement each: they run in no transaction, and lock their table alone.
SELECT c.oid::regclass::text, format('VACUUM (FULL, VERBOSE) %s', c.oid::regclass),
    pg_has_role(c.relowner, 'USAGE')
FROM pg_class AS c
WHERE c.relnamespace = '{log}'::regnamespace AND c.relkind = 'r' ORDER BY c.oid::regclass::text

-- name: writing_patience
-- While a table is waited for, all who come after it wait too.
SET lock_timeout = '5s'

-- name: written_anew
-- $1 is how many erasures there were before the first table was written.
UPDATE {log}.meta SET written_anew = $1

-- name: clock
-- What stamps events and tells how old blobs are, whatever the clients' clocks say.
SELECT {log}.clock()

-- name: may_forget
-- Whether whoever connected was admitted as an eraser, or owns the log.
SELECT has_function_privilege('{log}.forget(uuid)', 'EXECUTE')

-- name: forget
-- One transaction: a conversation is forgotten or it is not.
SELECT {log}.forget($1)

-- name: erasures
-- Callers that see one tenant only see this too.
SELECT {log}.erasures()

-- name: erased
-- A bound role sees those of its tenant.
SELECT conversation_id FROM {log}.erasure WHERE number > $1 ORDER BY number

-- name: stored_events
-- For `eventsourcing`; erased events have no state and are left out.
SELECT version, type, body FROM {log}.event
WHERE shard = (SELECT shard FROM {log}.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND version > $2 AND version <= $3 AND body IS NOT NULL
ORDER BY version LIMIT $4

-- name: last_stored_events
-- The same, the last one first.
SELECT version, type, body FROM {log}.event
WHERE shard = (SELECT shard FROM {log}.conversation_head WHERE conversation_id = $1)
    AND conversation_id = $1 AND version > $2 AND version <= $3 AND body IS NOT NULL
ORDER BY version DESC LIMIT $4

-- name: notifications
-- A tenant's events, by position; no topics means all.
SELECT position, conversation_id, version, type, body FROM {log}.event
WHERE shard = (SELECT shard FROM {log}.tenant WHERE tenant = $1) AND tenant = $1
    AND position > $2 AND position <= $3 AND (cardinality($4::text[]) = 0 OR type = ANY ($4))
    AND body IS NOT NULL
ORDER BY position LIMIT $5

-- name: last_notification
-- The last position of a tenant; other tenants of its shard may be further.
SELECT position FROM {log}.event
WHERE shard = (SELECT shard FROM {log}.tenant WHERE tenant = $1) AND tenant = $1
ORDER BY position DESC LIMIT 1

-- name: track
-- No row comes back where the position is not beyond the one that was tracked.
SELECT t FROM {log}.track($1, $2, $3, $4) AS t

-- name: tracked
-- One row an application.
SELECT position FROM {log}.tracking
WHERE tenant = $1 AND recorder = $2 AND application = $3

-- name: insert_snapshot
-- No row comes back where there is one of that version.
SELECT k FROM {log}.keep_snapshot($1, $2, $3, $4, $5) AS k

-- name: snapshots
-- In order of version.
SELECT version, type, body FROM {log}.snapshot
WHERE tenant = $1 AND conversation_id = $2 AND version > $3 AND version <= $4
ORDER BY version LIMIT $5

-- name: last_snapshots
-- The last one first.
SELECT version, type, body FROM {log}.snapshot
WHERE tenant = $1 AND conversation_id = $2 AND version > $3 AND version <= $4
ORDER BY version DESC LIMIT $5

-- name: hint
-- A row if somebody listens: who does holds this lock (`be_heard`). Its commit need not be durable.
-- Anybody may take the lock, and so have hints sent that nobody needs; nobody waits for it.
SELECT set_config('synchronous_commit', 'off', true), pg_notify('{log}', $1)
FROM (SELECT pg_try_advisory_xact_lock({lock}, 0) AS unheard OFFSET 0) AS looked
WHERE NOT looked.unheard

-- name: listen
-- Before the lock is taken: from then on no hint is missed.
LISTEN {log}

-- name: be_heard
-- Ends with the session, however that ends. False where somebody holds the lock alone: hints are sent then
-- too, and who listens asks again.
SELECT pg_try_advisory_lock_shared({lock}, 0)

-- name: place
-- The server and the database that the log is in, for what is to be kept elsewhere.
SELECT s.system_identifier, d.oid::bigint
FROM pg_control_system() AS s, pg_database AS d WHERE d.datname = current_database()
