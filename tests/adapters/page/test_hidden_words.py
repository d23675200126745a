"""Words that are hidden are found in any spelling that escaping makes."""

from __future__ import annotations

import json
import quopri
import time
import unicodedata
from collections.abc import Callable
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.page.share.hidden_words import HIDDEN, HiddenWords
from onrecord.adapters.presentation.control_characters import visible

WORDS = (
    *("secret", "Grüße", 'say "hi" & <go>', "C:\\new\\table", "two  words", "naïve/path"),
    *("東京", "\U0001f511key", "o'neill", "100%25", "a\\d"),
)
SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda word: word,
    "capitals": lambda word: word.upper() if "\\" not in word else word,
    "JSON": lambda word: json.dumps(word)[1:-1],
    "JSON in UTF-8": lambda word: json.dumps(word, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda word: json.dumps(json.dumps(word))[3:-3],
    "HTML": escape,
    "HTML twice": lambda word: escape(escape(word)),
    "numbers": lambda word: "".join(f"&#{ord(each)};" for each in word),
    "address": lambda word: quote(word, safe=""),
    "address twice": lambda word: quote(quote(word, safe=""), safe=""),
    "soft hyphens": lambda word: "\u00ad".join(word) if "\\" not in word else word,
    "bytes of Python": lambda word: repr(word.encode())[2:-1],
    "text of Python": lambda word: word.encode("unicode_escape").decode(),
    "long numbers": lambda word: "".join(f"\\U{ord(each):08x}" for each in word),
    "mail": lambda word: quopri.encodestring(word.encode()).decode(),
    "query": quote_plus,
    "colours": lambda word: "\x1b[1;31m".join(word) if "\\" not in word else word,
    "full width": lambda word: word.translate({code: code + 0xFEE0 for code in range(33, 127)}),
    "unseen": "\U000e0100\u3164\u115f\u17b4\U000e0020\u180b\ufff0".join,
    "turned": lambda word: f"{word[0]}\u202e{word[1:]}",
}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_word_is_hidden_however_it_is_spelled(word: str, spelling: str) -> None:
    spelled = SPELLINGS[spelling](word)
    for shown in (spelled, visible(spelled)):
        text, count = HiddenWords([word]).hide(f"before {shown} after")
        assert (text, count) == (f"before {HIDDEN} after", 1)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        *(("confidential", "con\ufb01dential"), ("office", "o\ufb03ce"), ("5 km2", "5 km\u00b2")),
        *(("strasse", "Stra\u00dfe"), ("STRASSE", "Stra\u00dfe"), ("Stra\u00dfe", "STRASSE")),
        *(
            ("istanbul", "\u0130STANBUL"),
            ("\u0130stanbul", "Istanbul"),
            ("istanbul", "I\u0307stanbul"),
        ),
        *(("\u0131l\u0131k", "ILIK"), ("M\u00fcller", "M%FCller"), ("M\u00fcller", "M\\xfcller")),
        *(
            ("John Smith", "John+Smith"),
            ("C++", "C++"),
            ("a+b", "a+b"),
            ("\ud55c\uae00", "\ud55c\uae00"),
        ),
    ],
)
def test_a_word_is_hidden_in_other_letters_for_it(word: str, text: str) -> None:
    assert HiddenWords([word]).hide(f"q={text}, {text}") == (f"q={HIDDEN}, {HIDDEN}", 2)


def test_a_word_is_hidden_in_either_normal_form_and_over_ends_of_lines() -> None:
    assert HiddenWords(["é"]).hide("caf\u00e9, cafe\u0301") == (f"caf{HIDDEN}, caf{HIDDEN}", 2)
    assert HiddenWords(["Ana Lopez"]).hide("ANA\n  lopez") == (HIDDEN, 1)
    assert HiddenWords(["ana", "nab"]).hide("banabell") == (f"b{HIDDEN}ell", 1)


def test_nothing_else_is_changed() -> None:
    text = "Nothing & \\u00e9 here,\n  it says \\\\ so: 50%"
    assert HiddenWords(["secret"]).hide(text) == (text, 0)
    assert not HiddenWords(["", "  ", "\u200b"])


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("a" * 2000, "a" * 131_072),
        ("a", "a" * 1_000_000),
        ("a" * 999 + "b" + "a" * 999, "a" * 999 + ("b" + "a" * 999) * 99),
        ("\u00e1", "a\u0301" * 100_000),
    ],
)
def test_words_that_overlap_are_hidden_as_one_in_time_that_grows_with_the_text(
    word: str, text: str
) -> None:
    began = time.process_time()
    assert HiddenWords([word]).hide(f"<{text}>") == (f"<{HIDDEN}>", 1)
    assert time.process_time() - began < 5


def test_all_that_overlaps_is_hidden() -> None:
    for word, text in (("aba", "xababax"), ("abcab", "xabcabcabx"), ("aab", "xaabaabx")):
        assert HiddenWords([word]).hide(text) == (f"x{HIDDEN}x", 1), word
    assert HiddenWords(["abaaba"]).hide("xabaabaabaabaxabaab") == (f"x{HIDDEN}xabaab", 1)


LETTERS = (*"\u1ebf\u1ed9\u01d8\u1fb4\u0390\ud55c\u1e69\u00e9\u0958\u212bxi", "\u0b95\u0bca")
"""Letters with up to three marks, of several scripts, and some without."""


@st.composite
def half_composed(draw: st.DrawFn) -> tuple[str, str]:
    """A word, and the same in letters of which any part is composed, in capitals or not, escaped or not."""
    word = "".join(draw(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=6)))
    parts = list(unicodedata.normalize("NFD", word))
    at = 0
    while at + 1 < len(parts):
        one = unicodedata.normalize("NFC", parts[at] + parts[at + 1])
        if len(one) == 1 and draw(st.booleans()):
            parts[at : at + 2] = [one]
        else:
            at += 1
    spelled = "".join(parts)
    assert unicodedata.normalize("NFC", spelled) == unicodedata.normalize("NFC", word)
    spelled = "".join(json.dumps(each)[1:-1] if draw(st.booleans()) else each for each in spelled)
    return word, spelled


@given(half_composed(), st.sampled_from(["", "z", " "]))
def test_a_word_is_hidden_in_letters_that_are_composed_in_part(
    spelling: tuple[str, str], beside: str
) -> None:
    word, spelled = spelling
    text = f"before{beside}{spelled}{beside}after"
    hidden = f"before{beside}{HIDDEN}{beside}after"
    assert HiddenWords([word]).hide(text) == (hidden, 1)


@pytest.mark.parametrize(
    "text",
    ["ti\u00ea\u0301ng", "TI\u00ca\u0301NG", "ti\\u00ea\\u0301ng", "ti&ecirc;&#769;ng"],
)
def test_a_word_is_hidden_whose_letter_has_one_of_two_marks_apart(text: str) -> None:
    assert HiddenWords(["Ti\u1ebfng"]).hide(f"x {text} y") == (f"x {HIDDEN} y", 1)


def test_marks_in_another_order_are_hidden_whole() -> None:
    assert HiddenWords(["a\u0323\u0301"]).hide("xa\u0301\u0323y") == (f"x{HIDDEN}y", 1)


def test_a_letter_with_marks_without_end_takes_time_that_grows_with_them() -> None:
    marks = "\u0301\u0323" * 100_000
    began = time.process_time()
    assert HiddenWords(["a"]).hide(f"xa{marks}") == (f"x{HIDDEN}{marks}", 1)
    assert time.process_time() - began < 5
