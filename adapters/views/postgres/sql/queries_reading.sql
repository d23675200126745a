-- What is asked to read a page of a view.

-- name: begin_snapshot
-- The page and how far it goes are of one moment, and no generation is swept in between.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: generation_read
-- $1 view.
SELECT number FROM {log}.generation WHERE view = $1 AND status = 'live'

-- name: view_read
-- $1 view, $2 tenant: which generation is read, and how it stands in the shard of the tenant.
SELECT g.number, v.stopped, v.paused,
    coalesce((SELECT min(c.position) FROM {log}.checkpoint AS c
        WHERE c.view = g.view AND c.generation = g.number AND c.shard = t.shard), 0),
    coalesce((SELECT e.position FROM {log}.event AS e
        WHERE e.shard = t.shard ORDER BY e.position DESC LIMIT 1), 0),
    (SELECT count(*) FROM {log}.parked AS p
        WHERE p.view = g.view AND p.generation = g.number AND p.tenant = $2)
FROM (SELECT $1::text AS name, $2::uuid AS tenant) AS asked
LEFT JOIN {log}.view AS v ON v.name = asked.name
LEFT JOIN {log}.generation AS g ON g.view = asked.name AND g.status = 'live'
LEFT JOIN {log}.tenant AS t ON t.tenant = asked.tenant
