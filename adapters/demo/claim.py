"""A claim: a tool gives its papers deep in a result, and every model is shown them in its own way.

All names and figures are made up.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from onrecord.adapters.demo.history import Run
from onrecord.adapters.demo.pdf import one_page_pdf
from onrecord.adapters.demo.picture import torn_box
from onrecord.adapters.demo.sayings import Said
from onrecord.adapters.demo.scenes import Answer, JsonObject
from onrecord.adapters.demo.wire import encoded
from onrecord.adapters.tools.python import tool
from onrecord.adapters.tools.tool import Tool
from onrecord.domain.tool_context import ToolCallContext

PROMPT: Final = "It came, and the box is torn. Open a claim, and tell me what we have on it."
SIGNAL: Final = "NW-20931 was delivered on Fri 17:40."
CONTEXT: Final[Mapping[str, str]] = {"tenant_id": "northwind", "token": "a secret of the desk's"}
KEPT: Final = ("tenant_id",)
"""What the record may keep of the context."""

_NUMBER: Final = "C-118"
_CALL: Final = "toolu_01Wv5RkNzT8yHqXb2JmGdPsF"
_NEWEST: Final = 3
"""How many of the last messages may hold a result, what was found in it, and what came meanwhile."""

_CALLED: Final = Answer(
    content=(
        {"type": "text", "text": "Let me open one and see its papers."},
        {"type": "tool_use", "id": _CALL, "name": "open_claim", "input": {"parcel": "NW-20931"}},
    ),
    stop_reason="tool_use",
)

_SAID: Final = (
    "Claim C-118 is open. Its report says that the box was torn at the depot's belt, and the "
    "photo shows it: one corner is gone."
)

SEEN: Final = Said(_SAID)
"""What the models of other APIs say once they are shown the papers."""

_SEEN: Final = Answer(content=({"type": "text", "text": _SAID},))


def claims_desk(folder: Path) -> Tool:
    """Return the tool that opens a claim; its papers are files in a folder."""
    report, photo = folder / "claim-C-118.pdf", folder / "torn-box.png"
    report.write_bytes(
        one_page_pdf(("Claim C-118, parcel NW-20931", "", "The box was torn at the depot's belt."))
    )
    photo.write_bytes(torn_box())

    def open_claim(parcel: str, context: ToolCallContext) -> dict[str, object]:
        """Open a claim for a parcel, and give its papers."""
        if context.get("token") != CONTEXT["token"]:
            raise PermissionError("the desk opens claims for those it knows")
        papers = [{"kind": "report", "file": report}, {"kind": "photo", "file": photo}]
        return {"claim": {"number": _NUMBER, "parcel": parcel, "papers": papers}}

    return tool(open_claim)


def answer(last: Run) -> Answer | None:
    """Return what is answered on Anthropic's API to the last that was said, if it is of a claim."""
    for placed in last.blocks:
        if placed.block.get("tool_use_id") == _CALL:
            return _SEEN
        if placed.block.get("text") == PROMPT:
            return _CALLED
    return None


def is_shown(told: list[JsonObject]) -> bool:
    """Whether the newest of some messages give a claim's papers."""
    return any(_NUMBER.encode() in encoded(said) for said in told[-_NEWEST:])
