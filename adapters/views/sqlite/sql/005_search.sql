-- The view `search`: what was said, asked and given, by its words.
--
-- Words are made in Python, by one rule on every database: they come with a blank between them, so
-- that the simplest tokenizer there is finds them again. The index holds words alone and is kept by
-- triggers; its rowid is the generation and the position, so it is in order of position.
CREATE TABLE view_search (
  id INTEGER PRIMARY KEY, -- generation << 40 | position
  generation INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  shard INTEGER NOT NULL,
  position INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  type TEXT NOT NULL,
  role TEXT NOT NULL,
  tool TEXT,
  call_id TEXT,
  answers INTEGER, -- the version of the call that a result is of
  text TEXT NOT NULL,
  words TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX view_search_version ON view_search (generation, conversation_id, version);
CREATE INDEX view_search_call ON view_search (generation, conversation_id, call_id, version)
  WHERE call_id IS NOT NULL;
CREATE INDEX view_search_answers ON view_search (generation, conversation_id, answers)
  WHERE answers IS NOT NULL;

-- www.sqlite.org/fts5.html, "External Content Tables", "The 'secure-delete' Configuration Option":
-- without it what was erased stays in the index for a while.
CREATE VIRTUAL TABLE view_search_words USING fts5(
  words, content = 'view_search', content_rowid = 'id', tokenize = 'ascii');
INSERT INTO view_search_words (view_search_words, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER view_search_put AFTER INSERT ON view_search BEGIN
  INSERT INTO view_search_words (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER view_search_change AFTER UPDATE OF words ON view_search
WHEN old.words <> new.words BEGIN
  INSERT INTO view_search_words (view_search_words, rowid, words)
  VALUES ('delete', old.id, old.words);
  INSERT INTO view_search_words (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER view_search_go AFTER DELETE ON view_search BEGIN
  INSERT INTO view_search_words (view_search_words, rowid, words)
  VALUES ('delete', old.id, old.words);
END;
