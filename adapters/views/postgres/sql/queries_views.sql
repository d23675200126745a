-- The control tables of views: 002_views.sql explains them.

-- name: blocked
-- $1 view, $2 generation, $3 conversations: those that wait behind a parked event.
SELECT p.conversation_id FROM {log}.parked AS p
WHERE p.view = $1 AND p.generation = $2 AND p.conversation_id = ANY ($3)
