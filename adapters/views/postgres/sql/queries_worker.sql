-- What workers ask: who works, whose a part is, what is folded next. 002_views.sql explains the tables.

-- name: worker_seen
-- By the server's clock, as everything about leases. $2 is whose parts it takes: 011_own_leases.sql.
INSERT INTO {log}.worker (name, view, seen_at) VALUES ($1, $2, {log}.clock())
ON CONFLICT (view, name) DO UPDATE SET seen_at = excluded.seen_at

-- name: workers_gone
-- Those that ended without a word leave no row for ever.
DELETE FROM {log}.worker
WHERE seen_at NOT BETWEEN {log}.moment() - 10 * $1::bigint AND {log}.moment() + 10 * $1::bigint

-- name: worker_left
-- So that the others take their share of its parts at once.
DELETE FROM {log}.worker WHERE name = $1 AND view = $2

-- name: parts_begun
-- $1 projections of one's own: as many parts of each as the maintained views have.
INSERT INTO {log}.part (view, shard, part)
SELECT n.view, p.shard, p.part FROM {log}.part AS p CROSS JOIN unnest($1::text[]) AS n (view)
WHERE p.view = '' ON CONFLICT DO NOTHING

-- name: parts_of_a_shard
-- Fixed when the schema is made.
SELECT {log}.parts()

-- name: parts_shared
-- How many parts there are, and how many workers were seen within a lease, of view $2. Who was seen in
-- times to come was seen before the clock was set back.
SELECT (SELECT count(*) FROM {log}.part WHERE view = $2),
    (SELECT count(*) FROM {log}.worker WHERE view = $2
        AND seen_at > {log}.clock() - $1::bigint AND seen_at < {log}.clock() + $1::bigint)

-- name: parts_renewed
-- A lease that has run out is still good where nobody has taken the part since.
UPDATE {log}.part SET leased_until = {log}.moment() + $2::bigint WHERE owner = $1 AND view = $3
RETURNING shard, part, epoch

-- name: parts_claimed
-- SKIP LOCKED: two workers that claim at once take different parts. The epoch fences the one before.
-- A lease longer than any is of before the clock was set back: who lives has renewed it since.
UPDATE {log}.part AS p SET owner = $1, epoch = p.epoch + 1,
    leased_until = {log}.moment() + $2::bigint
FROM (
    SELECT f.shard, f.part FROM {log}.part AS f
    WHERE f.view = $4 AND (f.owner IS NULL OR f.leased_until < {log}.moment()
        OR f.leased_until > {log}.moment() + 2 * $2::bigint)
    ORDER BY f.part, f.shard LIMIT $3 FOR UPDATE SKIP LOCKED
) AS free
WHERE p.view = $4 AND p.shard = free.shard AND p.part = free.part
RETURNING p.shard, p.part, p.epoch

-- name: parts_released
-- $2 shards and $3 parts, one of each, of view $4.
UPDATE {log}.part AS p SET owner = NULL, leased_until = 0
FROM unnest($2::smallint[], $3::smallint[]) AS r (shard, part)
WHERE p.owner = $1 AND p.view = $4 AND p.shard = r.shard AND p.part = r.part

-- name: bound_tenant
-- Null for who sees all tenants.
SELECT {log}.bound_tenant()

-- name: views_named
-- $1 names.
INSERT INTO {log}.view (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING

-- name: view_held
-- $1 view: who makes its tables does so alone. That of a table which is not there yet is made twice else.
SELECT 1 FROM {log}.view WHERE name = $1 FOR UPDATE

-- name: views_begun
-- $1 names, $2 revisions: a view without a generation gets its first one, live since it is empty.
INSERT INTO {log}.generation (view, number, revision, status)
SELECT n.view, 1, n.revision, 'live' FROM unnest($1::text[], $2::integer[]) AS n (view, revision)
WHERE NOT EXISTS (SELECT FROM {log}.generation AS g WHERE g.view = n.view)
ON CONFLICT DO NOTHING

-- name: checkpoints_begun
-- A generation without checkpoints begins at the first event. FOR SHARE waits for who retires it.
INSERT INTO {log}.checkpoint (view, generation, shard, part)
SELECT g.view, g.number, p.shard, p.part FROM {log}.generation AS g CROSS JOIN {log}.part AS p
WHERE p.view = '' AND g.view = ANY ($1::text[]) AND g.status <> 'retired' FOR SHARE OF g
ON CONFLICT DO NOTHING

-- name: generations
-- Each build of each view, and whether it is fed.
SELECT g.view, g.number, g.revision, g.status, v.paused,
    CASE g.status WHEN 'building' THEN v.build_stopped ELSE v.stopped END
FROM {log}.generation AS g JOIN {log}.view AS v ON v.name = g.view ORDER BY g.view, g.number

-- name: checkpoints
-- All of them: they are few, and asked for only when something has changed.
SELECT view, generation, shard, part, position FROM {log}.checkpoint

-- name: batch_begun
-- $1 milliseconds that a stalled worker may hold its locks. Rows and checkpoint may be lost together
-- in a crash, so the commit need not wait for the disk. An erasure waits for batches that have read
-- what it erases, and a batch that begins later reads it erased.
SELECT set_config('idle_in_transaction_session_timeout', $1, true),
    set_config('synchronous_commit', 'off', true), {log}.hold_off_erasures()

-- name: stalls_limited
-- $1 milliseconds that a worker which stalls between two statements may hold its locks.
SELECT set_config('idle_in_transaction_session_timeout', $1, true)

-- name: piped_batch_limited
-- $1 milliseconds for a whole batch. Between two statements of a pipeline the server takes a session for
-- active, so the limit above never ends one that stalls there. PostgreSQL 16 knows no such setting.
SELECT CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
    THEN set_config('transaction_timeout', $1, true) END

-- name: statements_limited
-- $1 milliseconds that one statement of a projection of one's own may take.
SELECT set_config('statement_timeout', $1, true)

-- name: user_reset
-- Who the connection is of, whatever a projection of one's own made it.
RESET SESSION AUTHORIZATION

-- name: role_reset
-- The role that goes with that.
RESET ROLE

-- name: settings_reset
-- Settings of the session as it began. Those of the transaction are set again after it.
RESET ALL

-- name: checkpoints_moved
-- How many moved: of view $1, generation $2, shard $3 and part $4 from $5 to $6, an element each. The
-- lease is $7, its owner (null: none is needed), $8, its epochs, and $9, whose parts it is of. Who finds
-- less than it expects was overtaken, or is locked out for now, and rolls back.
WITH held AS (
    SELECT c.ctid AS place, m.until
    FROM unnest($1::text[], $2::integer[], $3::smallint[], $4::smallint[], $5::bigint[],
        $6::bigint[], $8::bigint[]) AS m (view, generation, shard, part, after, until, epoch)
    JOIN {log}.checkpoint AS c ON c.view = m.view AND c.generation = m.generation
        AND c.shard = m.shard AND c.part = m.part
    WHERE c.position = m.after AND ($7::text IS NULL OR EXISTS (
        SELECT FROM {log}.part AS p WHERE p.view = $9 AND p.shard = m.shard AND p.part = m.part
            AND p.owner = $7 AND p.epoch = m.epoch))
    FOR UPDATE OF c SKIP LOCKED
), moved AS (
    UPDATE {log}.checkpoint AS c SET position = h.until FROM held AS h WHERE c.ctid = h.place
    RETURNING 1
)
SELECT count(*) FROM moved

-- name: events_of_parts
-- $1 shards and $2 parts after $3 until $4; $5 types, none means all. Parts that are at the same place
-- are read in one go; OFFSET 0 keeps it a walk along the key, however the table is estimated.
SELECT e.* FROM (
    SELECT s.shard, s.after, s.until, array_agg(s.part::integer) AS parts
    FROM unnest($1::smallint[], $2::smallint[], $3::bigint[], $4::bigint[])
        AS s (shard, part, after, until)
    GROUP BY s.shard, s.after, s.until
) AS l CROSS JOIN LATERAL (
    SELECT v.shard, v.position, v.conversation_id, v.version, v.exchange, v.event_id, v.type,
        v.schema_version, v.recorded_at, v.header, v.digest, v.leaf, v.salt, v.body
    FROM {log}.event AS v
    WHERE v.shard = l.shard AND v.position > l.after AND v.position <= l.until
        AND (cardinality(l.parts) = (SELECT {log}.parts())
            OR get_byte(uuid_send(v.conversation_id), 15)
                % (SELECT {log}.parts()::integer) = ANY (l.parts))
        AND (cardinality($5::text[]) = 0 OR v.type = ANY ($5))
    ORDER BY v.position OFFSET 0
) AS e

-- name: parked_in_parts
-- $1 views and $2 generations, in $3 shards and $4 parts: the conversations that wait.
SELECT p.view, p.generation, p.conversation_id FROM {log}.parked AS p
JOIN unnest($1::text[], $2::integer[]) AS f (view, generation)
    ON p.view = f.view AND p.generation = f.generation
JOIN unnest($3::smallint[], $4::smallint[]) AS s (shard, part)
    ON p.shard = s.shard AND p.part = s.part

-- name: park
-- $13 is how long until it is tried again, in microseconds; null waits for a person. $14 is since when
-- it is parked; null is now.
INSERT INTO {log}.parked (view, generation, conversation_id, tenant, shard, part, position,
    version, type, kind, error, attempts, parked_at, retry_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, coalesce($14, n.now),
    n.now + $13::bigint
FROM (SELECT {log}.clock() AS now OFFSET 0) AS n

-- name: parked_alike
-- $1 view, $2 generation: by kind, the conversations that were parked since the view was resumed.
SELECT p.kind, count(*) FROM {log}.parked AS p JOIN {log}.view AS v ON v.name = p.view
WHERE p.view = $1 AND p.generation = $2 AND p.parked_at > v.resumed_at GROUP BY p.kind

-- name: view_stopped
-- $3 is why generation $2 of view $1 stands still; the first reason stays.
UPDATE {log}.view AS v SET
    stopped = CASE g.status WHEN 'live' THEN coalesce(v.stopped, $3) ELSE v.stopped END,
    build_stopped =
        CASE g.status WHEN 'building' THEN coalesce(v.build_stopped, $3) ELSE v.build_stopped END
FROM {log}.generation AS g WHERE v.name = $1 AND g.view = $1 AND g.number = $2

-- name: parked_due
-- $1 views and $2 generations, in $3 shards and $4 parts: what is to be tried again, $5 at most.
SELECT p.view, p.generation, p.shard, p.part, p.conversation_id FROM {log}.parked AS p
JOIN unnest($1::text[], $2::integer[]) AS f (view, generation)
    ON p.view = f.view AND p.generation = f.generation
JOIN unnest($3::smallint[], $4::smallint[]) AS s (shard, part)
    ON p.shard = s.shard AND p.part = s.part
WHERE p.retry_at <= {log}.clock() ORDER BY p.retry_at LIMIT $5

-- name: unpark
-- What is tried again is parked again where it fails.
DELETE FROM {log}.parked WHERE view = $1 AND generation = $2 AND conversation_id = $3
RETURNING version, attempts, kind, error, parked_at

-- name: events_behind
-- A conversation's events from the parked one on, as far as its part is folded; $6 types.
SELECT shard, position, conversation_id, version, exchange, event_id, type, schema_version,
    recorded_at, header, digest, leaf, salt, body
FROM {log}.event
WHERE shard = $1 AND conversation_id = $2 AND version >= $3 AND position <= $4
    AND (cardinality($6::text[]) = 0 OR type = ANY ($6))
ORDER BY version LIMIT $5

-- name: generations_caught_up
-- $1 view, $2 the generation that is built, $3 the live one: whether it has come as far everywhere.
SELECT coalesce(bool_and(coalesce(b.position >= l.position, false)), false)
FROM {log}.checkpoint AS l LEFT JOIN {log}.checkpoint AS b
    ON b.view = l.view AND b.generation = $2 AND b.shard = l.shard AND b.part = l.part
WHERE l.view = $1 AND l.generation = $3

-- name: generations_held
-- $1 view, $2 the generation that is built, $3 the live one, where they still are that. Who switches
-- and who abandons locks generations before checkpoints, so that only one of them does it.
SELECT g.number FROM {log}.generation AS g
WHERE g.view = $1 AND ((g.number = $2 AND g.status = 'building')
    OR (g.number = $3 AND g.status = 'live'))
ORDER BY g.number FOR NO KEY UPDATE

-- name: checkpoints_held
-- Of view $1, generations $2 and $3: they stay where they are until these are switched.
SELECT 1 FROM {log}.checkpoint AS c WHERE c.view = $1 AND c.generation IN ($2, $3) FOR UPDATE

-- name: generation_retired
-- $3 is what it has to be yet. From now on its rows are only swept.
UPDATE {log}.generation SET status = 'retired' WHERE view = $1 AND number = $2 AND status = $3
RETURNING number

-- name: generation_live
-- It is read from now on.
UPDATE {log}.generation SET status = 'live', switched_at = {log}.moment()
WHERE view = $1 AND number = $2 AND status = 'building' RETURNING number

-- name: view_switched
-- What stopped the one before is past.
UPDATE {log}.view SET stopped = NULL, build_stopped = NULL WHERE name = $1

-- name: checkpoints_ended
-- No worker that is still at it can write rows after this.
DELETE FROM {log}.checkpoint WHERE view = $1 AND generation = $2

-- name: parked_count
-- Of one generation.
SELECT count(*) FROM {log}.parked WHERE view = $1 AND generation = $2

-- name: generation_swept
-- Nothing of it is left; its parked events go with it.
DELETE FROM {log}.generation WHERE view = $1 AND number = $2 AND status = 'retired'

-- name: building_begun
-- $1 view, $2 revision: the next build, unless one is being made already.
INSERT INTO {log}.generation (view, number, revision, status)
SELECT $1, max(g.number) + 1, $2, 'building' FROM {log}.generation AS g WHERE g.view = $1
ON CONFLICT DO NOTHING
