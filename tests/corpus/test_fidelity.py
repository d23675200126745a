"""Each recorded response goes back as it came, or a rule of docs/rendering.md says why not."""

from pathlib import Path

import pytest

from tests.bench.fidelity import ASIDE, EXACT, NOTHING, UNEXPLAINED, returned
from tests.corpus.wire import MISSING, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

PAGE = Path(__file__).parents[2] / "docs" / "rendering.md"


def test_a_response_goes_back_as_it_came_or_by_rules_that_the_page_has() -> None:
    page = PAGE.read_text("utf-8")
    responses = list(returned())
    assert any(response.ways == (EXACT,) for response in responses)
    assert [response for response in responses if UNEXPLAINED in response.ways] == []
    ways = {way for response in responses for way in response.ways} - {EXACT, ASIDE, NOTHING}
    assert [way for way in ways if f"| {way} |" not in page and f"| `{way}` |" not in page] == []
