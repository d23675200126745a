"""Logs of `llm` for tests: the tables of its releases, as far as an import reads them."""

from pathlib import Path

from tests.adapters.histories.kept_histories import database

TOOLS = """
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, content TEXT);
CREATE TABLE tools (id INTEGER PRIMARY KEY, name TEXT, description TEXT, input_schema TEXT);
"""
THREADS = (
    TOOLS
    + """
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts (
    id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT,
    text TEXT, payload TEXT
);
CREATE TABLE threads (id TEXT PRIMARY KEY, tip_message_hash TEXT);
CREATE TABLE turns (
    id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT,
    model TEXT, resolved_model TEXT, options_json TEXT, input_tokens INTEGER,
    output_tokens INTEGER, token_details TEXT, datetime_utc TEXT, response_json TEXT
);
CREATE TABLE turn_tools (turn_id TEXT, tool_id INTEGER);
"""
)
OLDEST = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (
    id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, options_json TEXT, response TEXT,
    response_json TEXT, conversation_id TEXT, datetime_utc TEXT
);
"""
RESPONSES = (
    TOOLS
    + OLDEST
    + """
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE tool_responses (tool_id INTEGER, response_id TEXT);
CREATE TABLE tool_calls (
    id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT
);
CREATE TABLE tool_results (
    id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, output TEXT, tool_call_id TEXT,
    exception TEXT
);
CREATE TABLE tool_results_attachments (
    tool_result_id INTEGER, attachment_id TEXT, "order" INTEGER
);
"""
)
PNG = b"\x89PNG\r\n\x1a\n-"
GAVE = """{
    "name": "weather", "output": "No", "tool_call_id": "c1", "exception": "E: x",
    "attachments": [{"id": "png"}]
}"""
ASKED = "2026-11-20T21:00:00.000001+00:00"
LATER = "2026-11-20T21:05:00+00:00"


def threads(path: Path, tip: str = "m6") -> Path:
    """A thread of two calls of a model: a picture, a fragment, a tool, a signature."""
    return database(
        path,
        THREADS,
        attachments=[("png", "image/png", None, None, PNG), ("gone", None, "/x", None, None)],
        fragments=[(1, "A LONG TEXT")],
        tools=[(7, "weather", "Tells it.", '{"type": "object"}')],
        messages=[
            ("m1", None, "system", None),
            ("m2", "m1", "user", None),
            ("m3", "m2", "assistant", None),
            ("m4", "m3", "tool", None),
            ("m5", "m4", "user", None),
            ("m6", "m5", "assistant", '{"openai": {"id": "msg_1"}}'),
        ],
        parts=[
            (1, "m1", 0, "text", None, "Be brief.", None),
            (2, "m2", 0, "text", None, None, '{"text_ref": [{"fragment": 1}, {"literal": "?"}]}'),
            (3, "m2", 1, "attachment", None, None, '{"attachment": {"id": "png"}}'),
            (4, "m2", 2, "attachment", None, None, '{"attachment": {"id": "gone"}}'),
            (
                5,
                "m3",
                0,
                "reasoning",
                None,
                "Look.",
                '{"provider_metadata": {"a": {"signature": "s"}}}',
            ),
            (
                6,
                "m3",
                1,
                "tool_call",
                "weather",
                None,
                '{"name": "weather", "arguments": {"in": "Oslo"}, "tool_call_id": "c1"}',
            ),
            (
                7,
                "m4",
                0,
                "tool_result",
                "weather",
                None,
                GAVE,
            ),
            (8, "m5", 0, "text", None, "And?", None),
            (9, "m6", 0, "text", None, "It rains.", None),
            (10, "m6", 1, "sung", None, None, '{"tune": "la"}'),
        ],
        threads=[("t1", tip), ("empty", None)],
        turns=[
            ("u1", "t1", "m2", "m3", "m", None, '{"t": 1}', 10, 5, None, ASKED, '{"id": "r"}'),
            ("u2", "t1", "m5", "m6", "m", "m-1", None, 20, 6, None, LATER, None),
        ],
        turn_tools=[("u1", 7), ("u2", 7)],
    )


def responses(path: Path) -> Path:
    """A conversation of two responses, the first of which called a tool that gave no id."""
    return database(
        path,
        RESPONSES,
        attachments=[("url", "application/pdf", None, "https://e.example/x.pdf", None)],
        fragments=[(1, "A LONG TEXT"), (2, "Be kind.")],
        tools=[(7, "weather", None, '{"type": "object"}')],
        conversations=[("k1", "What", "m")],
        responses=[
            ("r1", "m", "What?", "Be brief.", "{}", "I look.", '{"id": "r"}', "k1", ASKED),
            ("r2", "m", "", None, "{}", "It rains.", None, "k1", LATER),
            ("r3", "m", "Alone", None, "{}", "Yes.", None, None, LATER),
        ],
        prompt_attachments=[("r1", "url", 0)],
        prompt_fragments=[("r1", 1, 0)],
        system_fragments=[("r1", 2, 0)],
        tool_responses=[(7, "r1"), (7, "r2")],
        tool_calls=[(4, "r1", "weather", '{"in": "Oslo"}', None)],
        tool_results=[(9, "r2", "weather", "Rain", None, None)],
        tool_results_attachments=[(9, "url", 0)],
    )
