"""What Bedrock's Converse API refuses, and the models behind it that are known to say so.

What only some models want is looked for where the request names one of them (`modelId`). Not looked
for, because a request alone cannot tell: what reasoning was signed for, whether a file in S3 is
there, and what the caller may use.
"""

from __future__ import annotations

from typing import Final

from onrecord.projections.referee import bedrock_calls, bedrock_contents
from onrecord.projections.referee.violation import Rule

RULES: Final = (
    Rule("messages", "say something first", bedrock_contents.no_messages),
    Rule("B5", "let the user speak first", bedrock_contents.answer_first),
    Rule("B5", "join the messages", bedrock_contents.neighbours_of_one_role),
    Rule("B4", "leave the message out, or say something", bedrock_contents.no_content),
    Rule("B4", "leave the text out, or say something", bedrock_contents.blank_texts),
    Rule(
        "B1",
        "put a result for each call into the message right after them",
        bedrock_calls.unanswered_calls,
    ),
    Rule(
        "B2",
        "leave the result out, or put it right after the message that called it",
        bedrock_calls.results_without_call,
    ),
    Rule("B11", "map the id, on both ends of the pair alike", bedrock_calls.repeated_calls),
    Rule("B3", "declare the tools that were called", bedrock_calls.no_tools),
    Rule("B11", "give an object", bedrock_calls.input_that_is_no_object),
    Rule("B11", "map the id, on both ends of the pair alike", bedrock_calls.bad_ids),
    Rule("B11", "spell it anew, in calls and tools alike", bedrock_calls.bad_names),
    Rule("names", "give each tool a name of its own", bedrock_calls.repeated_names),
    Rule("B9", "let the assistant say a word between", bedrock_calls.results_beside_others),
    Rule("B8", "send the file as the user's, or its bytes", bedrock_calls.results_in_s3),
    Rule("B12", "leave the status out", bedrock_calls.refused_status),
    Rule("B6", "say what the documents are", bedrock_contents.documents_without_text),
    Rule("B7", "spell the name anew, and number it", bedrock_contents.bad_document_names),
    Rule("B8", "choose a model that reads it", bedrock_contents.unseen_files),
    Rule("B19", "let the assistant say a word between", bedrock_contents.too_many_files),
    Rule("B10", "leave the reasoning out", bedrock_contents.unsigned_reasoning),
    Rule("B14", "leave it out", bedrock_contents.bad_endings),
    Rule("B13", "set fewer cache points", bedrock_contents.too_many_points),
)
"""The rules of Converse, in the order in which they are told."""
