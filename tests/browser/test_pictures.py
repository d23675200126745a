"""docs/page.md is true: its pages show what the text says, and its pictures are there and small."""

from __future__ import annotations

import re

import pytest

from tests.adapters.service.served import Served
from tests.browser.conftest import Open
from tests.browser.pictures import FOLDER, LARGEST, PICTURES, VIEWPORT, Picture

_PAGE = FOLDER.parent / "page.md"


@pytest.mark.parametrize("picture", PICTURES, ids=str)
def test_a_page_of_a_picture_still_shows_what_the_text_says(
    demo: Served, opened: Open, picture: Picture
) -> None:
    picture.stand(opened(demo.url, viewport=VIEWPORT))


def test_the_pictures_of_the_page_are_there_and_small() -> None:
    named = set(re.findall(r"\]\(pictures/([\w-]+)\.png\)", _PAGE.read_text("utf-8")))
    assert named == {picture.name for picture in PICTURES}
    assert {path.stem for path in FOLDER.iterdir()} == named
    assert max(path.stat().st_size for path in FOLDER.iterdir()) <= LARGEST
