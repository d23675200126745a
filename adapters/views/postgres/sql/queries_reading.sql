-- What is asked to read a page of a view.

-- name: begin_snapshot
-- The page and how far it goes are of one moment, and no generation is swept in between.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: generation_read
-- $1 view.
SELECT number FROM {log}.generation WHERE view = $1 AND status = 'live'

-- name: redactions_behind
-- $1 view, $2 generation, $3 conversations, $4 how far the view has come: what they redacted behind that, or,
-- where one of them is parked, at all. OFFSET has each looked up by its index, whatever the statistics say.
SELECT e.* FROM {log}.conversation_head AS h
CROSS JOIN LATERAL (
    SELECT o.shard, o.position, o.conversation_id, o.version, o.exchange, o.event_id, o.type,
        o.schema_version, o.recorded_at, o.header, o.digest, o.leaf, o.salt, o.body
    FROM {log}.event AS o
    WHERE o.shard = h.shard AND o.conversation_id = h.conversation_id AND o.pointer = 'amended'
        AND o.type = 'content.redacted' AND (o.position > $4 OR EXISTS (
            SELECT FROM {log}.parked AS p WHERE p.view = $1 AND p.generation = $2
                AND p.conversation_id = h.conversation_id))
    OFFSET 0) AS e
WHERE h.conversation_id = ANY ($3::uuid[]) AND h.amended > 0

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
