-- The view `search`: what was said, asked and given, by its words.
--
-- Words are made in Python, by one rule on every database: they come with a blank between them, and
-- are the lexemes. So the parser and the dictionaries of this server have no part in it. A phrase is
-- looked for in `words` itself, among the rows that have all of its words.
CREATE TABLE {log}.view_search (
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
CREATE INDEX view_search_position ON {log}.view_search (generation, tenant, position);
-- What is new waits in a list that a write now and then has to work off, while workers wait: a short
-- one (kB), for at the default of 4 MB that took 0.2 seconds.
CREATE INDEX view_search_lexemes ON {log}.view_search USING gin (lexemes)
    WITH (gin_pending_list_limit = 256);
CREATE INDEX view_search_call ON {log}.view_search (generation, conversation_id, call_id, version)
    WHERE call_id IS NOT NULL;
CREATE INDEX view_search_answers ON {log}.view_search (generation, conversation_id, answers)
    WHERE answers IS NOT NULL;
