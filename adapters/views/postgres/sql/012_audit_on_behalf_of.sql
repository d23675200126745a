-- For whom it was done: the keyed digest of a name, as that of who did it.
ALTER TABLE {log}.view_audit ADD COLUMN on_behalf_of text;
