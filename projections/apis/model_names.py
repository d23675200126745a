"""The names of models: one model goes by several, by who serves it and how it is asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_REGION: Final = re.compile(r"(?:us|eu|apac|jp|au|ca|sa|me|af|us-gov|global)\.")
"""What Bedrock puts before the id of a model that may answer from several regions."""

_VENDOR: Final = re.compile(r"[a-z][a-z0-9]*\.(?=[a-z])")
"""What Bedrock puts before the name of a model: `anthropic.`; no `qwen2.` of `qwen2.5`."""

ANY: Final = "*"
"""What stands in a pattern for any text."""

_PATH: Final = "/"


def names_of(model: str) -> tuple[str, ...]:
    """Return the names that a model goes by, in lower case, that by which it was asked for first.

    Without the path of whose it is (`models/`, `anthropic/`, the ARN of Bedrock's that ends so), as
    the model that a fine-tuned one was made of (`ft:gpt-4o:acme::id` is a `gpt-4o:acme::id`),
    without the region and the vendor of Bedrock's, and with Vertex's `@` as the `-` of others.
    """
    name = model.strip().lower()
    own = name.rpartition(_PATH)[2].removeprefix("ft:").replace("@", "-")
    anywhere = _REGION.sub("", own, count=1) if _REGION.match(own) else own
    bare = _VENDOR.sub("", anywhere, count=1) if _VENDOR.match(anywhere) else anywhere
    return tuple(dict.fromkeys((name, own, anywhere, bare)))


@dataclass(frozen=True)
class Pattern:
    """A pattern of names: `*` is any text, all else is itself, in any case.

    One without a `/` looks at what follows the last one of a name.
    """

    text: str

    def matches(self, name: str) -> bool:
        """Whether a name, in lower case, is one of those."""
        is_of_path = _PATH in self.text
        return is_of_path == (_PATH in name) and self._expression.fullmatch(name) is not None

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        first, *others = map(re.escape, self.text.lower().split(ANY))
        if not others:
            return re.compile(first)
        # What was found for a star is not looked for again: a name cannot make that take long.
        between = "".join(f"(?>.*?{part})" for part in others[:-1])
        return re.compile(f"{first}{between}.*{others[-1]}", re.DOTALL)
