-- The view `window`: a row an event that an exchange tells of; a page makes exchanges of them.
--
-- `shown` says that the main line has the event by now: an adoption, or a summary, changes it, from
-- some version on. Versions up to 0 are no events: 0 keeps what amended the main line, those below
-- the calls that are open on a side line, in `state`.
CREATE TABLE {log}.view_window (
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
CREATE INDEX view_window_opening ON {log}.view_window (generation, conversation_id, version)
    WHERE opens AND shown;
CREATE INDEX view_window_exchange ON {log}.view_window (generation, conversation_id, exchange)
    WHERE opens AND line IS NULL;
CREATE INDEX view_window_line ON {log}.view_window (generation, conversation_id, line)
    WHERE version < 0;
