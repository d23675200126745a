"""One file to share: a conversation without what is hidden, which loads and runs nothing."""
