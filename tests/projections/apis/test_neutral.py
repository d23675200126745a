"""One hook by which a block of any API says what it says to others."""

from onrecord.domain.content import Opaque, Text
from onrecord.projections.api import FOLDERS, api_of, neutral_of


def test_a_block_is_read_by_the_reader_of_its_api() -> None:
    assert neutral_of("anthropic-messages", {"type": "text", "text": "Hi"}) == Text(text="Hi")


def test_a_block_of_an_api_without_reader_is_opaque() -> None:
    assert neutral_of("morse", {"type": "dash"}) == Opaque(api="morse", type="dash")
    assert neutral_of("morse", {"type": 1}) == Opaque(api="morse", type="")


def test_each_api_is_found_by_its_own_name() -> None:
    found = [api_of(name) for name in FOLDERS]
    assert [api.name for api in found if api] == list(FOLDERS)
