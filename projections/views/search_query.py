"""What is looked for, in a small language that is the same on every database.

Words: all of them must occur. "In quotes": so, one behind the other. With a - before it: must not
occur. Nothing else means anything, so nothing that is typed is wrong but to ask for nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.search_words import words_of
from onrecord.projections.views.view import Row

MOST_TERMS: Final = 64
"""How many words and phrases may be asked for at once."""

_TERM: Final = re.compile(r'(-?)(?:"([^"]*)"?|([^\s"]+))')
_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What must occur and what must not: phrases, of one word or of several."""

    wanted: tuple[_Words, ...]
    unwanted: tuple[_Words, ...] = ()

    def filters(self) -> Row:
        """Return what the query `search_page` of each database takes among its filters."""
        return {
            "match": self._match(),
            "words": self._words(),
            "phrases": [" ".join(words) for words in self.wanted if len(words) > 1],
            "unwanted_phrases": [" ".join(words) for words in self.unwanted if len(words) > 1],
            "around": self.wanted[0][0],
        }

    def _match(self) -> str:
        """Return it as SQLite has it (www.sqlite.org/fts5.html, "Full-text Query Syntax")."""
        asked = " AND ".join(_quoted(words) for words in self.wanted)
        return f"({asked})" + "".join(f" NOT {_quoted(words)}" for words in self.unwanted)

    def _words(self) -> str:
        """Return its words as PostgreSQL has them (its manual, "tsquery"); phrases go apart.

        Positions in a tsvector end at 16,383, so a phrase further behind would not be found by it.
        """
        wanted = [f"'{word}'" for words in self.wanted for word in words]
        unwanted = [f"!'{words[0]}'" for words in self.unwanted if len(words) == 1]
        return " & ".join((*wanted, *unwanted))


def parse_query(text: str) -> SearchQuery:
    """Return what a text asks for; InvalidInput where it asks for nothing, or for too much."""
    wanted: list[_Words] = []
    unwanted: list[_Words] = []
    for minus, quoted, bare in _TERM.findall(text):
        if words := tuple(words_of(quoted or bare)):
            (unwanted if minus else wanted).append(words)
    if not wanted:
        raise InvalidInput("nothing to look for: give a word that must occur")
    if sum(map(len, (*wanted, *unwanted))) > MOST_TERMS:
        raise InvalidInput(f"too much to look for at once: give at most {MOST_TERMS} words")
    return SearchQuery(tuple(wanted), tuple(unwanted))


def _quoted(words: _Words) -> str:
    return f'"{" ".join(words)}"'
