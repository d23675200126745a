"""`onrecord holds`, `retention`, `expire`, and `forget` of many: what is kept, and what goes when."""
