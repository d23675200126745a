-- name: has_branches
-- Only an AdvancedSQLiteSession makes this table.
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'message_structure'

-- name: sessions
-- A session that was cleared has a row of its own, but no message: there is nothing to take over.
SELECT session_id, NULL FROM agent_messages GROUP BY session_id ORDER BY min(id)

-- name: sessions_and_branches
-- Sessions of both kinds may share a file; where there are branches, they alone tell the order.
SELECT session_id, branch_id FROM (
    SELECT session_id, branch_id, min(message_id) AS begun, min(id) AS made
    FROM message_structure GROUP BY session_id, branch_id
    UNION ALL
    SELECT session_id, NULL, min(id), 0
    FROM agent_messages
    WHERE session_id NOT IN (SELECT session_id FROM message_structure)
    GROUP BY session_id
) ORDER BY begun, made

-- name: messages
-- The SDK reads them by id as well: times have whole seconds only.
SELECT id, message_data, created_at FROM agent_messages WHERE session_id = ?1 ORDER BY id

-- name: messages_of_branch
-- A branch shares the messages before it with the one that it left.
SELECT m.id, m.message_data, m.created_at
FROM agent_messages m JOIN message_structure s ON m.id = s.message_id
WHERE m.session_id = ?1 AND s.branch_id = ?2 ORDER BY s.sequence_number
