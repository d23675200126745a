-- Two more kinds of roles: the server's own, and that of whoever makes keys of the service (rights.sql).
ALTER TABLE {log}.caller DROP CONSTRAINT caller_kind_check;
ALTER TABLE {log}.caller ADD CONSTRAINT caller_kind_check CHECK (
    kind IN ('runtime', 'gateway', 'worker', 'operator', 'eraser', 'issuer', 'auditor', 'sealer'));
