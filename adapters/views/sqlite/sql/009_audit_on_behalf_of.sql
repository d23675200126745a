-- For whom it was done: the keyed digest of a name, as that of who did it.
ALTER TABLE view_audit ADD COLUMN on_behalf_of TEXT;
