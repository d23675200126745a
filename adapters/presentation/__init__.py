"""What the terminal, the page, reports and JSON show alike of a store: words, not layout.

Besides, which conversation a name means, and the advice where it means none: `conversations`.
"""
