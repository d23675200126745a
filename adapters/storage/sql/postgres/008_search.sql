-- The view `search`: what was said, asked and given, by its words.
--
-- Words are made in Python, by one rule on every database: they come with a blank between them, and
-- are the lexemes. So the parser and the dictionaries of this server have no part in it. A phrase is
-- looked for in `words` itself, among the rows that have all of its words.
CREATE TABLE onrecord.view_search (
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
CREATE INDEX view_search_position ON onrecord.view_search (generation, tenant, position);
-- What is new waits in a list that a write now and then has to work off, while workers wait: a short
-- one (kB), for at the default of 4 MB that took 0.2 seconds.
CREATE INDEX view_search_lexemes ON onrecord.view_search USING gin (lexemes)
    WITH (gin_pending_list_limit = 256);
CREATE INDEX view_search_call ON onrecord.view_search (generation, conversation_id, call_id, version)
    WHERE call_id IS NOT NULL;
CREATE INDEX view_search_answers ON onrecord.view_search (generation, conversation_id, answers)
    WHERE answers IS NOT NULL;

CREATE FUNCTION onrecord.forget_in_view_search(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    -- Generations are few and come first in the key: each is found by one look into it.
    WITH RECURSIVE g (number) AS (
        SELECT min(v.generation) FROM onrecord.view_search AS v
        UNION ALL
        SELECT (SELECT min(v.generation) FROM onrecord.view_search AS v
            WHERE v.generation > g.number)
        FROM g WHERE g.number IS NOT NULL
    )
    DELETE FROM onrecord.view_search AS v USING g
    WHERE v.generation = g.number AND v.conversation_id = of_conversation;
END;
REVOKE ALL ON FUNCTION onrecord.forget_in_view_search(uuid) FROM PUBLIC;

-- The rows of a page, with its parameters (queries_search.sql). It runs as the owner and looks itself
-- whose rows it may show: where row security does that, `@@` is not taken to an index, since it might
-- tell of what it sees. Planned anew each time, for what is looked for says which index is quicker.
CREATE FUNCTION onrecord.search_rows(
    of_generation integer, of_tenant uuid, filters jsonb, behind jsonb, most bigint
) RETURNS SETOF onrecord.view_search
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    IF of_tenant <> coalesce(onrecord.bound_tenant(), of_tenant) THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT v.* FROM onrecord.view_search AS v
    WHERE v.generation = of_generation AND v.tenant = of_tenant
        AND v.lexemes @@ (filters ->> 'words')::tsquery
        AND v.position < coalesce((behind ->> 'position')::bigint, 9223372036854775807)
        AND (filters ->> 'conversation_id' IS NULL
            OR v.conversation_id = (filters ->> 'conversation_id')::uuid)
        AND (filters ->> 'role' IS NULL OR v.role = filters ->> 'role')
        AND (filters ->> 'tool' IS NULL OR v.tool = filters ->> 'tool')
        AND v.recorded_at >= coalesce((filters ->> 'since')::bigint, 0)
        AND v.recorded_at < coalesce((filters ->> 'until')::bigint, 9223372036854775807)
        AND NOT EXISTS (SELECT FROM jsonb_array_elements_text(filters -> 'phrases') AS phrase
            WHERE position(' ' || phrase || ' ' IN ' ' || v.words || ' ') = 0)
        AND NOT EXISTS (
            SELECT FROM jsonb_array_elements_text(filters -> 'unwanted_phrases') AS phrase
            WHERE position(' ' || phrase || ' ' IN ' ' || v.words || ' ') > 0)
    ORDER BY v.position DESC LIMIT most;
END $$;
REVOKE ALL ON FUNCTION onrecord.search_rows(integer, uuid, jsonb, jsonb, bigint) FROM PUBLIC;
DO $$
DECLARE
    admitted name;
BEGIN
    FOR admitted IN SELECT onrecord.admitted() LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION '
            'onrecord.search_rows(integer, uuid, jsonb, jsonb, bigint) TO %I', admitted);
    END LOOP;
END $$;

ALTER TABLE onrecord.view_search ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON onrecord.view_search
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
SELECT onrecord.renew_admissions();
