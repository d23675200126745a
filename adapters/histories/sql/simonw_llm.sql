-- name: tables
-- A file is as old as the release that wrote it last: what came later is not there.
SELECT name FROM sqlite_master WHERE type = 'table'

-- name: threads
-- Since 0.36 a conversation is a chain of messages, and a thread points at its last one.
SELECT id, tip_message_hash FROM threads WHERE tip_message_hash IS NOT NULL ORDER BY id

-- name: chain
-- From the last message to the first one: each names the one before it. No chain is longer than
-- there are messages, unless a damaged one is a ring.
WITH RECURSIVE chain (hash, parent_hash, role, provider_metadata, depth) AS (
    SELECT hash, parent_hash, role, provider_metadata, 0 FROM messages WHERE hash = ?1
    UNION ALL
    SELECT m.hash, m.parent_hash, m.role, m.provider_metadata, depth + 1
    FROM chain JOIN messages m ON m.hash = chain.parent_hash
    WHERE depth < (SELECT count(*) FROM messages)
)
SELECT hash, role, provider_metadata FROM chain ORDER BY depth DESC

-- name: parts
-- Read by message, as the index has them.
SELECT * FROM parts WHERE message_hash = ?1 ORDER BY position

-- name: turns
-- Of two calls that came to the same message, the thread's own one counts.
SELECT * FROM turns WHERE tip_message_hash = ?1 ORDER BY thread_id = ?2 DESC, id LIMIT 1

-- name: turn_tools
-- What the model was told of, in the order in which it became known.
SELECT t.* FROM tools t JOIN turn_tools u ON u.tool_id = t.id WHERE u.turn_id = ?1 ORDER BY t.id

-- name: fragment
-- A text that many prompts share is stored once.
SELECT content FROM fragments WHERE id = ?1

-- name: attachment
-- Its bytes, its URL, or where it was on the machine that sent it.
SELECT type, path, url, content FROM attachments WHERE id = ?1

-- name: conversations
-- Releases before 0.36 wrote no threads; later ones gave a thread its conversation's id.
SELECT coalesce(conversation_id, id) FROM responses GROUP BY 1 ORDER BY min(id)

-- name: responses
-- Ids are ULIDs: in their order the calls were made.
SELECT * FROM responses
WHERE conversation_id = ?1 OR (conversation_id IS NULL AND id = ?1) ORDER BY id

-- name: prompt_attachments
-- Files that went with a prompt.
SELECT attachment_id FROM prompt_attachments WHERE response_id = ?1 ORDER BY "order"

-- name: prompt_fragments
-- Texts that went before a prompt.
SELECT f.content FROM prompt_fragments p JOIN fragments f ON f.id = p.fragment_id
WHERE p.response_id = ?1 ORDER BY p."order"

-- name: system_fragments
-- Texts that went before the system prompt.
SELECT f.content FROM system_fragments p JOIN fragments f ON f.id = p.fragment_id
WHERE p.response_id = ?1 ORDER BY p."order"

-- name: response_tools
-- What the model was told of, in the order in which it became known.
SELECT t.* FROM tools t JOIN tool_responses u ON u.tool_id = t.id
WHERE u.response_id = ?1 ORDER BY t.id

-- name: tool_calls
-- Calls that a response made.
SELECT * FROM tool_calls WHERE response_id = ?1 ORDER BY id

-- name: tool_results
-- Results that went with a prompt, of calls that the response before it made.
SELECT * FROM tool_results WHERE response_id = ?1 ORDER BY id

-- name: tool_result_attachments
-- Files that a tool gave.
SELECT attachment_id FROM tool_results_attachments WHERE tool_result_id = ?1 ORDER BY "order"
