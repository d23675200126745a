-- The view `audit`; every view has these five queries, named <view>_known and so on.

-- name: audit_known
-- $1 generation, $2 the keys as a JSON array: by version, or by the id of an event that has documents.
SELECT to_jsonb(v) FROM jsonb_to_recordset($2::jsonb) AS k (
    conversation_id uuid, version bigint, event_id uuid)
CROSS JOIN LATERAL (
    SELECT a.* FROM {log}.view_audit AS a
    WHERE a.generation = $1 AND a.conversation_id = k.conversation_id AND a.version = k.version
    UNION ALL
    SELECT b.* FROM {log}.view_audit AS b
    WHERE b.generation = $1 AND b.conversation_id = k.conversation_id AND b.event_id = k.event_id
) AS v

-- name: audit_put
-- $1 generation, $2 the rows as a JSON array, $3 shard, $4 part: for views that keep their rows so.
INSERT INTO {log}.view_audit
SELECT $1, r.tenant, r.conversation_id, r.version, r.shard, r.position, r.recorded_at,
    r.occurred_at, r.actor, r.type, r.api, r.model, r.tool, r.erasure, r.on_behalf_of,
    r.policy, r.deployment, r.sha256, r.outcome, r.documents, r.event_id, r.labels
FROM jsonb_to_recordset($2::jsonb) AS r (tenant uuid, conversation_id uuid, version bigint,
    shard smallint, position bigint, recorded_at bigint, occurred_at bigint, actor text, type text,
    api text, model text, tool text, erasure jsonb, on_behalf_of text, policy text,
    deployment text, sha256 text, outcome text, documents jsonb, event_id uuid, labels jsonb)
WHERE $3::smallint IS NOT NULL AND $4::smallint IS NOT NULL
ON CONFLICT (generation, conversation_id, version) DO UPDATE
SET api = excluded.api, model = excluded.model, tool = excluded.tool, sha256 = excluded.sha256,
    outcome = excluded.outcome, documents = excluded.documents, event_id = excluded.event_id,
    labels = excluded.labels

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
-- A label is that of the whole conversation, by its last value. `events` are the places that a text is at.
SELECT to_jsonb(v) - 'generation' FROM {log}.view_audit AS v
WHERE v.generation = $1 AND v.tenant = $2
    AND v.position < coalesce(($4::jsonb ->> 'position')::bigint, 9223372036854775807)
    AND ($3::jsonb ->> 'conversation_id' IS NULL
        OR v.conversation_id = ($3::jsonb ->> 'conversation_id')::uuid
        OR v.erasure ->> 'conversation_id' = $3::jsonb ->> 'conversation_id')
    AND ($3::jsonb ->> 'actor' IS NULL OR v.actor = $3::jsonb ->> 'actor')
    AND ($3::jsonb ->> 'on_behalf_of' IS NULL OR v.on_behalf_of = $3::jsonb ->> 'on_behalf_of')
    AND ($3::jsonb ->> 'type' IS NULL OR v.type = $3::jsonb ->> 'type')
    AND ($3::jsonb ->> 'types' IS NULL OR v.type IN (
        SELECT jsonb_array_elements_text($3::jsonb -> 'types')))
    AND ($3::jsonb ->> 'model' IS NULL OR v.model = $3::jsonb ->> 'model')
    AND ($3::jsonb ->> 'tool' IS NULL OR v.tool = $3::jsonb ->> 'tool')
    AND ($3::jsonb ->> 'policy' IS NULL OR v.policy = $3::jsonb ->> 'policy')
    AND ($3::jsonb ->> 'deployment' IS NULL OR v.deployment = $3::jsonb ->> 'deployment')
    AND ($3::jsonb ->> 'outcome' IS NULL OR v.outcome = $3::jsonb ->> 'outcome')
    AND ($3::jsonb ->> 'document' IS NULL OR EXISTS (
        SELECT FROM jsonb_array_elements_text(v.documents) AS digest
        WHERE digest LIKE ($3::jsonb ->> 'document') || '%'))
    AND ($3::jsonb ->> 'label' IS NULL OR (
        SELECT l.labels ->> ($3::jsonb ->> 'label') FROM {log}.view_audit AS l
        WHERE l.generation = $1
            AND l.conversation_id
                = coalesce((v.erasure ->> 'conversation_id')::uuid, v.conversation_id)
            AND l.labels IS NOT NULL AND l.labels ->> ($3::jsonb ->> 'label') IS NOT NULL
        ORDER BY l.version DESC LIMIT 1) LIKE coalesce($3::jsonb ->> 'label_value', '%'))
    AND ($3::jsonb ->> 'events' IS NULL OR (v.conversation_id, v.version) IN (
        SELECT e.conversation_id, e.version
        FROM jsonb_to_recordset($3::jsonb -> 'events') AS e (conversation_id uuid, version bigint)))
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
