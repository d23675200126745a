"""What OpenAI's Chat Completions API refuses, and the compatible servers that say so.

Not looked for, because a request alone cannot tell: audio that has expired, and reasoning that
DeepSeek wants back (whether it does has changed).
"""

from __future__ import annotations

from typing import Final

from onrecord.projections.referee import openai_chat_calls, openai_chat_contents
from onrecord.projections.referee.violation import Rule

RULES: Final = (
    Rule("messages", "say something first", openai_chat_contents.no_messages),
    Rule(
        "C1",
        "put a result for each call right after the message that made them",
        openai_chat_calls.unanswered_calls,
    ),
    Rule(
        "C2",
        "leave the result out, or put it right after the message that called it",
        openai_chat_calls.results_without_call,
    ),
    Rule("C2", "keep one of the results", openai_chat_calls.repeated_results),
    Rule(
        "C5",
        "give each call an id of its own, and its result the same",
        openai_chat_calls.repeated_calls,
    ),
    Rule("C5", "map the id, on both ends of the pair alike", openai_chat_calls.bad_ids),
    Rule("C4", "leave the message out, or say something", openai_chat_contents.no_content),
    Rule("C4", "leave `tool_calls` out where nothing is called", openai_chat_calls.no_calls),
    Rule(
        "names",
        "use letters, digits, _ and - only, at most 64 of them",
        openai_chat_contents.bad_names,
    ),
    Rule("names", "give each tool a name of its own", openai_chat_contents.repeated_tool_names),
    Rule("C6", "say it as the user", openai_chat_contents.refused_roles),
    Rule(
        "files",
        "send it as a part that the API reads, or its text",
        openai_chat_contents.refused_media,
    ),
    Rule(
        "audio",
        "choose a model that hears, or send a transcript",
        openai_chat_contents.unheard_audio,
    ),
)
