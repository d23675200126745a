"""The keys of the page: each one that does something is explained."""

from __future__ import annotations

import re

from onrecord.adapters.page.static_files import edition, files
from tests.adapters.service.served import served


def test_every_key_that_does_something_is_explained_on_every_page() -> None:
    script = files()["keyboard.js"].data.decode()
    (table,) = re.findall(r"const KEYS = \{(.*?)\n\};", script, re.DOTALL)
    keys = re.findall(r'^  "?(.)"?: ', table, re.MULTILINE)
    with served() as page:
        for path in ("/", "/sign-in", "/c/nobody"):
            text = page.ask("GET", path).data.decode()
            (dialog,) = re.findall(r'<dialog id="keys".*?</dialog>', text, re.DOTALL)
            explained = re.findall(r"<kbd>(.+?)</kbd>", dialog)
            assert explained == [*keys, "Esc"], path
            assert f'<script type="module" src="/page/static/{edition()}/keyboard.js">' in text
