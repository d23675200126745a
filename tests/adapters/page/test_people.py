"""Who people are: by a name that nobody else has."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.adapters.page.visitors.people import person_name
from onrecord.domain.errors import InvalidContent


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"sub": "1", "name": "Ada", "email": "a@b.c", "email_verified": True}, "a@b.c"),
        ({"sub": "1", "name": "Ada", "email": "a@b.c"}, "Ada (1)"),
        ({"sub": "1", "email": "a@b.c"}, "1"),
        ({"sub": "1", "name": "A" * 500}, "1"),
        ({"sub": "1", "name": "\ud800"}, "1"),
    ],
)
def test_the_name_of_a_person_is_nobody_elses(claims: dict[str, Any], name: str) -> None:
    assert person_name(claims) == name


def test_whoever_has_no_name_that_can_be_recorded_has_none() -> None:
    with pytest.raises(InvalidContent):
        person_name({"sub": " "})
