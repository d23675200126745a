-- What `onrecord verify` reads: whole rows, of all tenants, and what no conversation has of its own.

-- name: begin_moment
-- What is read from here on is of one moment; nobody waits for it.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: inventory_log
-- In the order of the primary key; `begun` looks the head up by its own.
SELECT e.shard, e.position, e.conversation_id, e.version, e.exchange, e.event_id, e.type, e.schema_version,
    e.recorded_at, e.header, e.digest, e.leaf, e.salt, e.body, e.tenant, e.pointer, e.opens_exchange, e.once,
    EXISTS (
        SELECT FROM {log}.conversation_head AS h
        WHERE h.shard = e.shard AND h.conversation_id = e.conversation_id AND h.version >= e.version)
FROM {log}.event AS e WHERE e.shard = $1 AND e.position > $2 ORDER BY e.position LIMIT $3

-- name: inventory_commitments
-- In the order of the primary key, and no other table.
SELECT e.position, e.version, e.recorded_at, e.header, e.digest, e.leaf, e.salt, e.body
FROM {log}.event AS e WHERE e.shard = $1 AND e.position > $2 ORDER BY e.position LIMIT $3

-- name: inventory_events
-- By the index of versions, from 0 on: aggregates may begin there.
SELECT e.shard, e.position, e.conversation_id, e.version, e.exchange, e.event_id, e.type, e.schema_version,
    e.recorded_at, e.header, e.digest, e.leaf, e.salt, e.body, e.tenant, e.pointer, e.opens_exchange, e.once,
    true
FROM {log}.event AS e WHERE e.shard = $1 AND e.conversation_id = $2 AND e.version > $3
ORDER BY e.version LIMIT $4

-- name: inventory_heads
-- By the index of ids, page by page. No page ends between heads of one id, should there be two.
SELECT conversation_id, tenant, shard, position, started_at, recorded_at, forgotten, version, exchange,
    open_calls, open_since, instructions, tools, request, adopted, amended, closed, input_tokens, output_tokens
FROM {log}.conversation_head WHERE $1::uuid IS NULL OR conversation_id > $1
ORDER BY conversation_id FETCH FIRST $2 ROWS WITH TIES

-- name: inventory_head
-- The same of one conversation.
SELECT conversation_id, tenant, shard, position, started_at, recorded_at, forgotten, version, exchange,
    open_calls, open_since, instructions, tools, request, adopted, amended, closed, input_tokens, output_tokens
FROM {log}.conversation_head WHERE conversation_id = $1

-- name: inventory_keys
-- By the index of conversations, in whatever shard they stand.
SELECT tenant, key FROM {log}.conversation_key WHERE conversation_id = $1 ORDER BY tenant, key

-- name: inventory_blobs
-- Those that are still arriving too.
SELECT blob_id::text, tenant, shard, digest, size, referenced, stored_at
FROM {log}.blob WHERE conversation_id = $1 ORDER BY shard, blob_id

-- name: inventory_chunk
-- The next one, whatever its number: one at a time, for it may be large.
SELECT number, tenant, data FROM {log}.blob_chunk
WHERE shard = $1 AND blob_id = $2 AND number > $3 ORDER BY number LIMIT 1

-- name: inventory_erasures
-- By the index of conversations.
SELECT count(*) FROM {log}.erasure WHERE conversation_id = $1

-- name: inventory_snapshots
-- What they hold only the application can tell.
SELECT tenant, version FROM {log}.snapshot WHERE conversation_id = $1 ORDER BY tenant, version

-- name: oddity_tenants
-- A tenant is in the shard that its id leads to, and all of it is there.
SELECT NULL::uuid, 'a tenant is not in the shard that its id leads to'
FROM {log}.tenant AS t LEFT JOIN {log}.tenant AS u ON u.tenant = t.operators_of
WHERE t.shard <> coalesce(u.shard, abs(hashtextextended(t.tenant::text, 0) % {log}.shards()))
UNION ALL
SELECT NULL, 'a tenant has another operators'' stream than its id leads to'
FROM {log}.tenant AS t WHERE t.operators <> {log}.operators_of(t.tenant)
    OR t.operators_of IS DISTINCT FROM (SELECT u.tenant FROM {log}.tenant AS u WHERE u.operators = t.tenant)
UNION ALL
SELECT h.conversation_id, 'its head is not in the shard of its tenant' FROM {log}.conversation_head AS h
WHERE NOT EXISTS (SELECT FROM {log}.tenant AS t WHERE t.tenant = h.tenant AND t.shard = h.shard)
UNION ALL
SELECT h.conversation_id, 'it has more than one head' FROM {log}.conversation_head AS h
GROUP BY h.conversation_id HAVING count(*) > 1
UNION ALL
SELECT k.conversation_id, 'its key is not in the shard of its tenant' FROM {log}.conversation_key AS k
WHERE NOT EXISTS (SELECT FROM {log}.tenant AS t WHERE t.tenant = k.tenant AND t.shard = k.shard)
UNION ALL
SELECT b.conversation_id, 'a blob of it is not in the shard of its tenant' FROM {log}.blob AS b
WHERE NOT EXISTS (SELECT FROM {log}.tenant AS t WHERE t.tenant = b.tenant AND t.shard = b.shard)

-- name: oddity_shards
-- Cursors go by the number of shards: what is beyond would never be read.
SELECT NULL::uuid, 'events are in a shard that the log does not have'
WHERE EXISTS (SELECT FROM {log}.event AS e WHERE e.shard >= (SELECT {log}.shards()) OR e.shard < 0)
UNION ALL
SELECT NULL, 'the rows that appends lock are not one for each shard'
WHERE EXISTS (
    SELECT FROM (
        SELECT s::smallint AS shard FROM generate_series(0, {log}.shards() - 1) AS s
    ) AS wanted FULL JOIN {log}.shard_lock AS found USING (shard)
    WHERE wanted IS NULL OR found IS NULL)
UNION ALL
SELECT NULL, 'the mark that the log is encrypted is gone from some of its shards'
FROM {log}.shard_lock AS l HAVING bool_or(l.encrypted) AND NOT bool_and(l.encrypted)

-- name: oddity_places
-- Whoever reads the log begins at 1, so what is before is read by conversation only.
SELECT e.conversation_id, 'an event of it is at position ' || e.position || ', and positions begin at 1'
FROM {log}.event AS e WHERE e.position < 1

-- name: oddity_meta
-- One row, made with the schema.
SELECT NULL::uuid, 'the row of meta is not as it was made'
WHERE NOT EXISTS (
    SELECT FROM {log}.identity() AS i WHERE octet_length(i.key) = 32 AND octet_length(i.seal) = 32)

-- name: oddity_parts
-- Each shard has as many parts as meta says, for each that they are leased for; by whom is not looked at.
SELECT NULL::uuid, 'the parts of the shards are not those that meta says'
WHERE EXISTS (
    SELECT FROM (
        SELECT v.view, s::smallint AS shard, p::smallint AS part
        FROM (SELECT '' AS view UNION SELECT f.view FROM {log}.part AS f) AS v,
            generate_series(0, {log}.shards() - 1) AS s, generate_series(0, {log}.parts() - 1) AS p
    ) AS wanted FULL JOIN {log}.part AS found USING (view, shard, part)
    WHERE wanted IS NULL OR found IS NULL)

-- name: oddity_erasures
-- Numbered from 1 without gaps, each of a conversation that has a head, or never began.
SELECT NULL::uuid, 'erasures are not numbered from 1 without gaps'
FROM {log}.erasure HAVING count(*) <> coalesce(max(number), 0) OR min(number) < 1
UNION ALL
SELECT x.conversation_id, 'an erasure of it is another tenant''s by its row' FROM {log}.erasure AS x
JOIN {log}.conversation_head AS h USING (conversation_id) WHERE h.tenant <> x.tenant
UNION ALL
SELECT x.conversation_id, 'its erasure is noted before it was recorded last' FROM {log}.erasure AS x
JOIN {log}.conversation_head AS h USING (conversation_id)
WHERE h.forgotten GROUP BY x.conversation_id, h.recorded_at HAVING max(x.erased_at) < h.recorded_at - 86400000000

-- name: erased_unbegun
-- Documents or a key of them were erased before anything was said.
SELECT DISTINCT x.conversation_id FROM {log}.erasure AS x WHERE NOT EXISTS (
    SELECT FROM {log}.conversation_head AS h WHERE h.conversation_id = x.conversation_id)

-- name: oddity_blobs
-- Of what has not begun, or is still arriving, nothing can refer to a blob.
SELECT b.conversation_id, 'it refers to a blob, and it has not begun' FROM {log}.blob AS b
WHERE b.referenced AND (b.digest IS NULL OR NOT EXISTS (
    SELECT FROM {log}.conversation_head AS h WHERE h.conversation_id = b.conversation_id))

-- name: oddity_chunks
-- No foreign key holds them together, for uploads are many transactions.
SELECT b.conversation_id, 'a part of a blob is another tenant''s by its row' FROM {log}.blob_chunk AS c
JOIN {log}.blob AS b USING (shard, blob_id) WHERE b.tenant <> c.tenant
UNION ALL
SELECT NULL, 'a part of a blob belongs to no blob' WHERE EXISTS (
    SELECT FROM {log}.blob_chunk AS c WHERE NOT EXISTS (
        SELECT FROM {log}.blob AS b WHERE b.shard = c.shard AND b.blob_id = c.blob_id))

-- name: oddity_snapshots
-- An aggregate has events.
SELECT s.conversation_id, 'it has a snapshot and no events' FROM {log}.snapshot AS s
WHERE NOT EXISTS (SELECT FROM {log}.conversation_head AS h WHERE h.conversation_id = s.conversation_id)

-- name: oddity_tracking
-- Nobody can have followed what is not there.
SELECT NULL::uuid, 'a follower has tracked a position that the log does not have' WHERE EXISTS (
    SELECT FROM {log}.tracking AS t
    WHERE t.position < 1 OR t.position > (SELECT max(e.position) FROM {log}.event AS e))

-- name: oddity_migrations
-- Their digests are compared at each start; here, that the steps are numbered without gaps.
SELECT NULL::uuid, 'the steps of the schema are not numbered from 1 without gaps'
FROM {log}.migration WHERE part = 'tables' HAVING count(*) <> max(number) OR min(number) <> 1

-- name: oddity_triggers
-- What keeps events as they are: before each UPDATE and DELETE (27), and before TRUNCATE (34).
SELECT NULL::uuid, 'the triggers that keep events as they are are not in force' WHERE (
    SELECT count(*) FROM pg_trigger AS t
    WHERE t.tgrelid = '{log}.event'::regclass AND t.tgenabled = 'O' AND NOT t.tgisinternal
        AND t.tgfoid = '{log}.refuse_change'::regproc AND t.tgqual IS NULL
        AND (t.tgname, t.tgtype) IN (('event_is_immutable', 27), ('event_is_kept', 34))) < 2
UNION ALL
SELECT NULL, format('the table %s has the trigger %s, which no release made', c.relname, t.tgname)
FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
WHERE c.relnamespace = '{log}'::regnamespace AND NOT t.tgisinternal
    AND NOT (c.oid = '{log}.event'::regclass AND t.tgname IN ('event_is_immutable', 'event_is_kept'))

-- name: oddity_rules
-- A rule does something else than what a statement says. No table of a log has one.
SELECT NULL::uuid, format('the table %s has the rule %s, which no release made', c.relname, r.rulename)
FROM pg_rewrite AS r JOIN pg_class AS c ON c.oid = r.ev_class
WHERE c.relnamespace = '{log}'::regnamespace

-- name: oddity_policies
-- One policy shows each tenant its own rows (rights.sql). Its text is compared without blanks, brackets and
-- the log's own name, which a search path may leave out; on Citus it asks without a SELECT.
WITH guarded AS (
    SELECT c.oid, c.relname, c.relrowsecurity FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
    WHERE c.relnamespace = '{log}'::regnamespace AND c.relkind = 'r'
        AND a.attname = 'tenant' AND NOT a.attisdropped AND c.relname <> 'caller'
), policy AS (
    SELECT p.polrelid, p.polname, p.polcmd = '*' AND p.polpermissive AND p.polroles = '{0}'
        AND p.polwithcheck IS NULL AND lower(regexp_replace(
            pg_get_expr(p.polqual, p.polrelid), ' AS bound_\w+|[\s()]|{log}\.', '', 'g')) IN (
            'tenant=coalesceselectbound_tenant,tenantortenant=selectbound_operators',
            'tenant=coalescebound_tenant,tenantortenant=bound_operators') AS is_ours
    FROM pg_policy AS p
)
SELECT NULL::uuid, format('the rows of the table %s are not guarded as they were made', g.relname)
FROM guarded AS g WHERE NOT g.relrowsecurity OR NOT EXISTS (
    SELECT FROM policy AS p WHERE p.polrelid = g.oid AND p.polname = 'own' AND p.is_ours)
UNION ALL
SELECT NULL, format('the table %s has the policy %s, which no release made', c.relname, p.polname)
FROM policy AS p JOIN pg_class AS c ON c.oid = p.polrelid
WHERE c.relnamespace = '{log}'::regnamespace AND (p.polname <> 'own' OR c.oid NOT IN (SELECT oid FROM guarded))

-- name: oddity_tables
-- Each is the same owner's, is written to the write-ahead log, and has no rows in another table.
SELECT NULL::uuid, format('the table %s %s', c.relname, w.why)
FROM pg_class AS c CROSS JOIN LATERAL (
    SELECT 'has another owner than the others' AS why WHERE c.relowner <> (
        SELECT m.relowner FROM pg_class AS m WHERE m.oid = '{log}.meta'::regclass)
    UNION ALL SELECT 'is not durable: it is unlogged' WHERE c.relpersistence <> 'p'
    UNION ALL SELECT 'has rows in another table, which inherits it' WHERE EXISTS (
        SELECT FROM pg_inherits AS i WHERE i.inhparent = c.oid)) AS w
WHERE c.relnamespace = '{log}'::regnamespace AND c.relkind = 'r'

-- name: oddity_rights
-- Events are recorded and erased by functions of the owner, and no right is everybody's.
SELECT NULL::uuid, format('%s may %s in the table %s', coalesce(r.rolname, 'everybody'), a.privilege_type, c.relname)
FROM pg_class AS c
CROSS JOIN LATERAL (
    SELECT x.grantee, x.privilege_type FROM aclexplode(c.relacl) AS x
    UNION SELECT x.grantee, x.privilege_type FROM pg_attribute AS t, aclexplode(t.attacl) AS x
    WHERE t.attrelid = c.oid) AS a
LEFT JOIN pg_roles AS r ON r.oid = a.grantee
WHERE c.relnamespace = '{log}'::regnamespace AND a.grantee <> c.relowner
    AND (a.grantee = 0 OR c.oid = '{log}.event'::regclass AND a.privilege_type <> 'SELECT')
UNION ALL
SELECT NULL, format('%s may CREATE in the schema', coalesce(r.rolname, 'everybody'))
FROM pg_namespace AS n CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
LEFT JOIN pg_roles AS r ON r.oid = a.grantee
WHERE n.oid = '{log}'::regnamespace AND a.grantee <> n.nspowner AND a.privilege_type = 'CREATE'

-- name: oddity_verbs
-- A role that may both erase and begin conversations is of two kinds; what admits roles is the owner's.
WITH granted AS (
    SELECT p.proname, a.grantee, coalesce(r.rolname, 'everybody') AS rolname
    FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
    LEFT JOIN pg_roles AS r ON r.oid = a.grantee
    WHERE p.pronamespace = '{log}'::regnamespace AND a.grantee <> p.proowner
)
SELECT NULL::uuid, format('%s may call %s', g.rolname, g.proname) FROM granted AS g
WHERE g.grantee = 0 OR g.proname LIKE 'admit%' OR g.proname LIKE 'let_in%' OR (
    g.proname IN ('forget', 'sweep_blobs') AND EXISTS (
        SELECT FROM granted AS o WHERE o.grantee = g.grantee AND o.proname = 'open_conversation'))

-- name: oddity_roles
-- The guard of rows is not for those: who may use the schema is let in, and bound, by its own name.
SELECT NULL::uuid, format('the role %s sees the rows of all tenants: it %s', r.rolname, w.why)
FROM pg_namespace AS n CROSS JOIN LATERAL aclexplode(n.nspacl) AS a JOIN pg_roles AS r ON r.oid = a.grantee
CROSS JOIN LATERAL (
    SELECT 'is a superuser' AS why WHERE r.rolsuper
    UNION ALL SELECT 'may bypass row-level security' WHERE r.rolbypassrls AND NOT r.rolsuper
    UNION ALL SELECT 'is a member of the owner' WHERE NOT r.rolsuper AND pg_has_role(r.oid, n.nspowner, 'MEMBER')) AS w
WHERE n.oid = '{log}'::regnamespace AND a.privilege_type = 'USAGE' AND a.grantee <> n.nspowner

-- name: shows_operators
-- The rows of an operators' stream are hidden from a role that is bound to a tenant, unless its kind reads them.
SELECT {log}.bound_tenant() IS NULL OR {log}.bound_operators() IS NOT NULL

-- name: shows_all_tenants
-- A role that is bound to a tenant does not see the positions of others.
SELECT {log}.bound_tenant() IS NULL

-- name: unbegun
-- Names that somebody asked for, and documents that no event came after yet.
SELECT (SELECT count(*) FROM {log}.conversation_key AS k WHERE NOT EXISTS (
        SELECT FROM {log}.conversation_head AS h WHERE h.conversation_id = k.conversation_id)),
    (SELECT count(*) FROM {log}.blob AS b WHERE b.digest IS NULL OR NOT EXISTS (
        SELECT FROM {log}.conversation_head AS h WHERE h.conversation_id = b.conversation_id))
