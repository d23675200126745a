-- The view `audit`; every view has these queries, named <view>_known and so on.

-- name: audit_known
-- ?1 generation, ?2 the keys as a JSON array: by version, or by the id of an event that has documents.
-- Without CROSS the generation's rows would be read first.
SELECT json_object('tenant', tenant, 'conversation_id', v.conversation_id, 'version', v.version,
  'shard', shard, 'position', position, 'recorded_at', recorded_at, 'occurred_at', occurred_at,
  'actor', actor, 'type', v.type, 'api', api, 'model', model, 'tool', tool, 'erasure', json(erasure),
  'on_behalf_of', on_behalf_of, 'policy', policy, 'deployment', deployment, 'sha256', sha256,
  'outcome', outcome, 'documents', json(documents), 'event_id', v.event_id, 'labels', json(labels))
FROM json_each(?2) AS k CROSS JOIN view_audit AS v ON v.generation = ?1 AND v.version IN (
  SELECT k.value ->> 'version'
  UNION ALL
  SELECT d.version FROM view_audit AS d WHERE d.generation = ?1
    AND d.conversation_id = k.value ->> 'conversation_id' AND d.event_id = k.value ->> 'event_id'
) AND v.conversation_id = k.value ->> 'conversation_id';

-- name: audit_put
-- ?1 generation, ?2 the rows as a JSON array, ?3 shard, ?4 part: for views that keep their rows so.
INSERT INTO view_audit
SELECT ?1, value ->> 'tenant', value ->> 'conversation_id', value ->> 'version', value ->> 'shard',
  value ->> 'position', value ->> 'recorded_at', value ->> 'occurred_at', value ->> 'actor',
  value ->> 'type', value ->> 'api', value ->> 'model', value ->> 'tool', value ->> 'erasure',
  value ->> 'on_behalf_of', value ->> 'policy', value ->> 'deployment', value ->> 'sha256',
  value ->> 'outcome', value ->> 'documents', value ->> 'event_id', value ->> 'labels'
FROM json_each(?2) WHERE ?3 IS NOT NULL AND ?4 IS NOT NULL
ON CONFLICT (generation, conversation_id, version) DO UPDATE
SET api = excluded.api, model = excluded.model, tool = excluded.tool, sha256 = excluded.sha256,
  outcome = excluded.outcome, documents = excluded.documents, event_id = excluded.event_id,
  labels = excluded.labels;

-- name: audit_drop
-- No row of it is ever dropped.
DELETE FROM view_audit WHERE generation = ?1 AND (conversation_id, version) IN (
  SELECT value ->> 'conversation_id', value ->> 'version' FROM json_each(?2));

-- name: audit_sweep
-- Rows of a retired generation, ?2 at most: it is done when none went.
DELETE FROM view_audit WHERE (generation, conversation_id, version) IN (
  SELECT generation, conversation_id, version FROM view_audit WHERE generation = ?1 LIMIT ?2);

-- name: audit_forget
-- Of a conversation that was erased, that something was done stays.
UPDATE view_audit SET api = NULL, model = NULL, tool = NULL, sha256 = NULL, outcome = NULL,
  documents = NULL, event_id = NULL, labels = NULL
WHERE conversation_id = ?1;

-- name: audit_page
-- ?1 generation, ?2 tenant, ?3 the filters and ?4 the key after which it goes on, JSON objects, ?5 limit.
-- A label is that of the whole conversation, by its last value. `events` are the places that a text is at.
SELECT json_object('tenant', tenant, 'conversation_id', conversation_id, 'version', version,
  'shard', shard, 'position', position, 'recorded_at', recorded_at, 'occurred_at', occurred_at,
  'actor', actor, 'type', type, 'api', api, 'model', model, 'tool', tool, 'erasure', json(erasure),
  'on_behalf_of', on_behalf_of, 'policy', policy, 'deployment', deployment, 'sha256', sha256,
  'outcome', outcome, 'documents', json(documents))
FROM view_audit AS v
WHERE generation = ?1 AND tenant = ?2
  AND position < coalesce(?4 ->> 'position', 9223372036854775807)
  AND (?3 ->> 'conversation_id' IS NULL OR conversation_id = ?3 ->> 'conversation_id'
    OR erasure ->> 'conversation_id' = ?3 ->> 'conversation_id')
  AND (?3 ->> 'actor' IS NULL OR actor = ?3 ->> 'actor')
  AND (?3 ->> 'on_behalf_of' IS NULL OR on_behalf_of = ?3 ->> 'on_behalf_of')
  AND (?3 ->> 'type' IS NULL OR type = ?3 ->> 'type')
  AND (?3 ->> 'types' IS NULL OR type IN (SELECT value FROM json_each(?3 -> 'types')))
  AND (?3 ->> 'model' IS NULL OR model = ?3 ->> 'model')
  AND (?3 ->> 'tool' IS NULL OR tool = ?3 ->> 'tool')
  AND (?3 ->> 'policy' IS NULL OR policy = ?3 ->> 'policy')
  AND (?3 ->> 'deployment' IS NULL OR deployment = ?3 ->> 'deployment')
  AND (?3 ->> 'outcome' IS NULL OR outcome = ?3 ->> 'outcome')
  AND (?3 ->> 'document' IS NULL OR EXISTS (
    SELECT 1 FROM json_each(documents) WHERE value LIKE (?3 ->> 'document') || '%'))
  AND (?3 ->> 'label' IS NULL OR (
    SELECT l.labels ->> (?3 ->> 'label') FROM view_audit AS l
    WHERE l.generation = ?1
      AND l.conversation_id = coalesce(v.erasure ->> 'conversation_id', v.conversation_id)
      AND l.labels IS NOT NULL AND l.labels ->> (?3 ->> 'label') IS NOT NULL
    ORDER BY l.version DESC LIMIT 1) LIKE coalesce(?3 ->> 'label_value', '%'))
  AND (?3 ->> 'events' IS NULL OR (conversation_id, version) IN (
    SELECT value ->> 'conversation_id', value ->> 'version' FROM json_each(?3 -> 'events')))
  AND recorded_at >= coalesce(?3 ->> 'since', 0)
  AND recorded_at < coalesce(?3 ->> 'until', 9223372036854775807)
ORDER BY position DESC LIMIT ?5;

-- name: audit_in_force
-- As audit_page, an entry a conversation: of those that have events under a rule, the filters that are given.
SELECT json_object('conversation_id', conversation_id, 'first_version', min(version),
  'last_version', max(version), 'first_at', min(recorded_at), 'last_at', max(recorded_at),
  'events', count(*), 'position', max(position))
FROM view_audit
WHERE generation = ?1 AND tenant = ?2
  AND (?3 ->> 'policy' IS NULL OR policy = ?3 ->> 'policy')
  AND (?3 ->> 'deployment' IS NULL OR deployment = ?3 ->> 'deployment')
  AND (?3 ->> 'model' IS NULL OR model = ?3 ->> 'model')
  AND (?3 ->> 'type' IS NULL OR type = ?3 ->> 'type')
  AND (?3 ->> 'sha256' IS NULL OR sha256 = ?3 ->> 'sha256')
  AND recorded_at >= coalesce(?3 ->> 'since', 0)
  AND recorded_at < coalesce(?3 ->> 'until', 9223372036854775807)
GROUP BY conversation_id
HAVING max(position) < coalesce(?4 ->> 'position', 9223372036854775807)
ORDER BY max(position) DESC LIMIT ?5;
