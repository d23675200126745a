-- Which rules were in force: a policy and a deployment as callers name them, and the digest of the
-- instructions or tools that an event put in force.
ALTER TABLE {log}.view_audit ADD COLUMN policy text;
ALTER TABLE {log}.view_audit ADD COLUMN deployment text;
ALTER TABLE {log}.view_audit ADD COLUMN sha256 text;
