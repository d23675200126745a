-- What a person does to views. 002_views.sql explains the tables.

-- name: standings
-- Of the parts of a shard the one that is behind counts.
WITH reached AS (
    SELECT s.view, s.generation, sum(s.position)::bigint AS position FROM (
        SELECT c.view, c.generation, c.shard, min(c.position) AS position
        FROM {log}.checkpoint AS c GROUP BY c.view, c.generation, c.shard
    ) AS s GROUP BY s.view, s.generation
)
SELECT v.name, l.number, l.revision, coalesce(r.position, 0),
    (SELECT count(*) FROM {log}.parked AS p WHERE p.view = v.name AND p.generation = l.number),
    v.paused, v.stopped, b.number, q.position,
    CASE WHEN b.number IS NOT NULL THEN v.build_stopped END
FROM {log}.view AS v
LEFT JOIN {log}.generation AS l ON l.view = v.name AND l.status = 'live'
LEFT JOIN reached AS r ON r.view = v.name AND r.generation = l.number
LEFT JOIN {log}.generation AS b ON b.view = v.name AND b.status = 'building'
LEFT JOIN reached AS q ON q.view = v.name AND q.generation = b.number

-- name: workers_at_work
-- $1 microseconds of a lease: the workers seen within one, the parts whose lease has not run out, and
-- all parts, of the maintained views; by the server's clock. What is longer than any lease is of before
-- that was set back.
SELECT (SELECT count(*) FROM {log}.worker WHERE view = ''
        AND seen_at BETWEEN {log}.clock() - $1::bigint AND {log}.clock() + $1::bigint),
    (SELECT count(*) FROM {log}.part WHERE view = '' AND owner IS NOT NULL
        AND leased_until BETWEEN {log}.clock() AND {log}.clock() + 2 * $1::bigint),
    (SELECT count(*) FROM {log}.part WHERE view = '')

-- name: own_workers_at_work
-- $1 microseconds of a lease: how many workers were seen within one, of each projection of one's own.
SELECT view, count(*) FROM {log}.worker WHERE view <> ''
    AND seen_at BETWEEN {log}.clock() - $1::bigint AND {log}.clock() + $1::bigint
GROUP BY view

-- name: parked_events
-- $1 view, null means all; those of builds that are read or made.
SELECT p.view, p.generation, p.tenant, p.conversation_id, p.shard, p.position, p.version, p.type,
    p.kind, p.error, p.attempts, p.parked_at, p.retry_at
FROM {log}.parked AS p
JOIN {log}.generation AS g ON g.view = p.view AND g.number = p.generation
WHERE g.status <> 'retired' AND ($1::text IS NULL OR p.view = $1)
ORDER BY p.view, p.generation, p.shard, p.position

-- name: view_paused
-- Workers see it within a second.
UPDATE {log}.view SET paused = true WHERE name = $1

-- name: view_resumed
-- The parked events of before no longer count towards its stopping.
UPDATE {log}.view SET paused = false, stopped = NULL, build_stopped = NULL,
    resumed_at = {log}.moment()
WHERE name = $1

-- name: build_resumed
-- What is made beside goes on; what is read stays as it is.
UPDATE {log}.view SET build_stopped = NULL, resumed_at = {log}.moment() WHERE name = $1

-- name: parked_retried
-- $1 view, $2 conversation, null means all: due at once, and how many. Of what is swept nothing is.
WITH due AS (
    UPDATE {log}.parked AS p SET retry_at = 0 FROM {log}.generation AS g
    WHERE p.view = $1 AND ($2::uuid IS NULL OR p.conversation_id = $2)
        AND g.view = p.view AND g.number = p.generation AND g.status <> 'retired'
    RETURNING 1
)
SELECT count(*) FROM due

-- name: view_reached
-- $1 view, $2 tenant: the position that all parts of its shard have finished, in the build that is read.
SELECT min(c.position) FROM {log}.checkpoint AS c
JOIN {log}.generation AS g
    ON g.view = c.view AND g.number = c.generation AND g.status = 'live'
WHERE c.view = $1 AND c.shard = (SELECT t.shard FROM {log}.tenant AS t WHERE t.tenant = $2)
