-- The view `audit`; every view has these five queries, named <view>_known and so on.

-- name: audit_known
-- $1 generation, $2 the keys as a JSON array.
SELECT to_jsonb(v) FROM jsonb_to_recordset($2::jsonb) AS k (conversation_id uuid, version bigint)
JOIN {log}.view_audit AS v
    ON v.generation = $1 AND v.conversation_id = k.conversation_id AND v.version = k.version

-- name: audit_put
-- $1 generation, $2 the rows as a JSON array, $3 shard, $4 part: for views that keep their rows so.
INSERT INTO {log}.view_audit
SELECT $1, r.tenant, r.conversation_id, r.version, r.shard, r.position, r.recorded_at,
    r.occurred_at, r.actor, r.type, r.api, r.model, r.tool, r.erasure, r.on_behalf_of,
    r.policy, r.deployment, r.sha256
FROM jsonb_to_recordset($2::jsonb) AS r (tenant uuid, conversation_id uuid, version bigint,
    shard smallint, position bigint, recorded_at bigint, occurred_at bigint, actor text, type text,
    api text, model text, tool text, erasure jsonb, on_behalf_of text, policy text,
    deployment text, sha256 text)
WHERE $3::smallint IS NOT NULL AND $4::smallint IS NOT NULL
ON CONFLICT (generation, conversation_id, version) DO UPDATE
SET api = excluded.api, model = excluded.model, tool = excluded.tool, sha256 = excluded.sha256

-- name: audit_drop
-- No row of it is ever dropped.
DELETE FROM {log}.view_audit AS v USING jsonb_to_recordset($2::jsonb) AS k (
    conversation_id uuid, version bigint)
WHERE v.generation = $1 AND v.conversation_id = k.conversation_id AND v.version = k.version

-- name: audit_sweep
-- Rows of a retired generation, $2 at most: it is done when none went. In the order of an index, since a
-- scan of the table would go over all those that went before.
DELETE FROM {log}.view_audit AS v WHERE v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM {log}.view_audit AS w WHERE w.generation = $1
    ORDER BY w.tenant, w.position LIMIT $2))

-- name: audit_page
-- $1 generation, $2 tenant, $3 the filters and $4 the key after which it goes on, JSON objects, $5 limit.
SELECT to_jsonb(v) - 'generation' FROM {log}.view_audit AS v
WHERE v.generation = $1 AND v.tenant = $2
    AND v.position < coalesce(($4::jsonb ->> 'position')::bigint, 9223372036854775807)
    AND ($3::jsonb ->> 'conversation_id' IS NULL
        OR v.conversation_id = ($3::jsonb ->> 'conversation_id')::uuid
        OR v.erasure ->> 'conversation_id' = $3::jsonb ->> 'conversation_id')
    AND ($3::jsonb ->> 'actor' IS NULL OR v.actor = $3::jsonb ->> 'actor')
    AND ($3::jsonb ->> 'on_behalf_of' IS NULL OR v.on_behalf_of = $3::jsonb ->> 'on_behalf_of')
    AND ($3::jsonb ->> 'type' IS NULL OR v.type = $3::jsonb ->> 'type')
    AND ($3::jsonb ->> 'model' IS NULL OR v.model = $3::jsonb ->> 'model')
    AND ($3::jsonb ->> 'tool' IS NULL OR v.tool = $3::jsonb ->> 'tool')
    AND ($3::jsonb ->> 'policy' IS NULL OR v.policy = $3::jsonb ->> 'policy')
    AND ($3::jsonb ->> 'deployment' IS NULL OR v.deployment = $3::jsonb ->> 'deployment')
    AND v.recorded_at >= coalesce(($3::jsonb ->> 'since')::bigint, 0)
    AND v.recorded_at < coalesce(($3::jsonb ->> 'until')::bigint, 9223372036854775807)
ORDER BY v.position DESC LIMIT $5

-- name: audit_in_force
-- As audit_page, an entry a conversation: of those that have events under a rule, the filters that are given.
SELECT jsonb_build_object('conversation_id', v.conversation_id, 'first_version', min(v.version),
    'last_version', max(v.version), 'first_at', min(v.recorded_at), 'last_at', max(v.recorded_at),
    'events', count(*), 'position', max(v.position))
FROM {log}.view_audit AS v
WHERE v.generation = $1 AND v.tenant = $2
    AND ($3::jsonb ->> 'policy' IS NULL OR v.policy = $3::jsonb ->> 'policy')
    AND ($3::jsonb ->> 'deployment' IS NULL OR v.deployment = $3::jsonb ->> 'deployment')
    AND ($3::jsonb ->> 'model' IS NULL OR v.model = $3::jsonb ->> 'model')
    AND ($3::jsonb ->> 'type' IS NULL OR v.type = $3::jsonb ->> 'type')
    AND ($3::jsonb ->> 'sha256' IS NULL OR v.sha256 = $3::jsonb ->> 'sha256')
    AND v.recorded_at >= coalesce(($3::jsonb ->> 'since')::bigint, 0)
    AND v.recorded_at < coalesce(($3::jsonb ->> 'until')::bigint, 9223372036854775807)
GROUP BY v.conversation_id
HAVING max(v.position) < coalesce(($4::jsonb ->> 'position')::bigint, 9223372036854775807)
ORDER BY max(v.position) DESC LIMIT $5
