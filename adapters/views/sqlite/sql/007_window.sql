-- The view `window`: a row an event that an exchange tells of; a page makes exchanges of them.
--
-- `shown` says that the main line has the event by now: an adoption, or a summary, changes it, from
-- some version on. Versions up to 0 are no events: 0 keeps what amended the main line, those below
-- the calls that are open on a side line, in `state`.
CREATE TABLE view_window (
  generation INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  line TEXT,
  exchange INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  role TEXT NOT NULL,
  opens INTEGER NOT NULL, -- whether it opens an exchange
  shown INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  tool_calls INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  speech TEXT, -- what is said in one response has the same
  text TEXT,
  state TEXT, -- JSON
  PRIMARY KEY (generation, conversation_id, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX view_window_opening ON view_window (generation, conversation_id, version)
  WHERE opens AND shown;
CREATE INDEX view_window_exchange ON view_window (generation, conversation_id, exchange)
  WHERE opens AND line IS NULL;
CREATE INDEX view_window_line ON view_window (generation, conversation_id, line)
  WHERE version < 0;
