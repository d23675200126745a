-- The view `window`: a row an event that an exchange tells of; a page makes exchanges of them.
--
-- `shown` says that the main line has the event by now: an adoption, or a summary, changes it, from
-- some version on. Versions up to 0 are no events: 0 keeps what amended the main line, those below
-- the calls that are open on a side line, in `state`.
CREATE TABLE onrecord.view_window (
    generation integer NOT NULL,
    tenant uuid NOT NULL,
    conversation_id uuid NOT NULL,
    version bigint NOT NULL,
    line uuid,
    exchange bigint NOT NULL,
    recorded_at bigint NOT NULL,
    role text NOT NULL,
    opens boolean NOT NULL,                 -- whether it opens an exchange
    shown boolean NOT NULL,
    messages smallint NOT NULL,
    tool_calls smallint NOT NULL,
    documents integer NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    speech text,                            -- what is said in one response has the same
    text text,
    state jsonb,
    PRIMARY KEY (generation, conversation_id, version)
);
CREATE INDEX view_window_opening ON onrecord.view_window (generation, conversation_id, version)
    WHERE opens AND shown;
CREATE INDEX view_window_exchange ON onrecord.view_window (generation, conversation_id, exchange)
    WHERE opens AND line IS NULL;
CREATE INDEX view_window_line ON onrecord.view_window (generation, conversation_id, line)
    WHERE version < 0;

CREATE FUNCTION onrecord.forget_in_view_window(of_conversation uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    -- Generations are few and come first in the key: each is found by one look into it.
    WITH RECURSIVE g (number) AS (
        SELECT min(v.generation) FROM onrecord.view_window AS v
        UNION ALL
        SELECT (SELECT min(v.generation) FROM onrecord.view_window AS v
            WHERE v.generation > g.number)
        FROM g WHERE g.number IS NOT NULL
    )
    DELETE FROM onrecord.view_window AS v USING g
    WHERE v.generation = g.number AND v.conversation_id = of_conversation;
END;
REVOKE ALL ON FUNCTION onrecord.forget_in_view_window(uuid) FROM PUBLIC;

ALTER TABLE onrecord.view_window ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON onrecord.view_window
    USING (tenant = coalesce((SELECT onrecord.bound_tenant()), tenant));
SELECT onrecord.renew_admissions();
