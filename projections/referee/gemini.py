"""What Gemini's API refuses: Google's own service, and Vertex where both say the same.

Not looked for, because a request alone cannot tell: whether a signature is the service's own, and
whether `toolConfig` is added that parts of the service's own tools want. Signatures are wanted
where the request names a model of the third generation or later, as the SDK's call does.
"""

from __future__ import annotations

from typing import Final

from onrecord.projections.referee import gemini_calls, gemini_contents
from onrecord.projections.referee.violation import Rule

RULES: Final = (
    Rule("messages", "say something first", gemini_contents.no_contents),
    Rule("G7", "say it as the user, or as the model", gemini_contents.refused_roles),
    Rule("G6", "leave the content out, or say something", gemini_contents.no_parts),
    Rule("G6", "leave the part out, or say something", gemini_contents.empty_parts),
    Rule("G6", "make it several parts", gemini_contents.parts_of_two_kinds),
    Rule(
        "G1",
        "put a response for each call into the one content after them",
        gemini_calls.unequal_responses,
    ),
    Rule(
        "G2",
        "leave the response out, or put it right after the content that called it",
        gemini_calls.responses_without_call,
    ),
    Rule("G3", "let the user speak before, or join the contents", gemini_calls.calls_out_of_turn),
    Rule(
        "G4",
        "give the signature back where it came, or leave the call out",
        gemini_calls.unsigned_calls,
    ),
    Rule("G9", "spell it anew, in calls, responses and tools alike", gemini_calls.bad_names),
    Rule("names", "declare each function once", gemini_calls.repeated_names),
)
"""The rules of Gemini's API, in the order in which they are told."""
