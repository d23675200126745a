-- The view `search`: what was said, asked and given, by its words.
--
-- Words are made in Python, by one rule on every database: they come with a blank between them, and
-- are the lexemes. So the parser and the dictionaries of this server have no part in it. A phrase is
-- looked for in `words` itself, among the rows that have all of its words.
CREATE TABLE hansard.view_search (
    generation integer NOT NULL,
    tenant uuid NOT NULL,
    conversation_id uuid NOT NULL,
    version bigint NOT NULL,
    shard smallint NOT NULL,
    position bigint NOT NULL,
    recorded_at bigint NOT NULL,
    type text NOT NULL,
    role text NOT NULL,
    tool text,
    call_id text,
    answers bigint,                         -- the version of the call that a result is of
    text text NOT NULL,
    words text NOT NULL,
    lexemes tsvector NOT NULL,
    PRIMARY KEY (generation, conversation_id, version)
);
CREATE INDEX view_search_position ON hansard.view_search (generation, tenant, position);
CREATE INDEX view_search_lexemes ON hansard.view_search USING gin (lexemes);
CREATE INDEX view_search_call ON hansard.view_search (generation, conversation_id, call_id, version)
    WHERE call_id IS NOT NULL;
CREATE INDEX view_search_answers ON hansard.view_search (generation, conversation_id, answers)
    WHERE answers IS NOT NULL;

CREATE FUNCTION hansard.forget_in_view_search(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    -- Generations are few and come first in the key: each is found by one look into it.
    WITH RECURSIVE g (number) AS (
        SELECT min(v.generation) FROM hansard.view_search AS v
        UNION ALL
        SELECT (SELECT min(v.generation) FROM hansard.view_search AS v
            WHERE v.generation > g.number)
        FROM g WHERE g.number IS NOT NULL
    )
    DELETE FROM hansard.view_search AS v USING g
    WHERE v.generation = g.number AND v.conversation_id = of_conversation;
END;
REVOKE ALL ON FUNCTION hansard.forget_in_view_search(uuid) FROM PUBLIC;

ALTER TABLE hansard.view_search ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON hansard.view_search
    USING (tenant = coalesce((SELECT hansard.bound_tenant()), tenant));
SELECT hansard.renew_admissions();
