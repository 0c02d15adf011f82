-- Returns the greatest id that was generated from a clock (C-13). It reads one entry per tenant and index.
SELECT coalesce(max(newest.id), 0)
FROM tenants t
CROSS JOIN LATERAL (
    VALUES
        ((SELECT max(id) FROM managed_objects WHERE tenant = t.id)),
        ((SELECT max(id) FROM alarms WHERE tenant = t.id)),
        ((SELECT max(id) FROM events WHERE tenant = t.id)),
        ((SELECT max(id) FROM measurements WHERE tenant = t.id)),
        ((SELECT max(id) FROM audit_records WHERE tenant = t.id)),
        ((SELECT max(id) FROM binaries WHERE tenant = t.id)),
        ((SELECT max(id) FROM applications WHERE tenant = t.id)),
        ((SELECT max(id) FROM modules WHERE tenant = t.id))
) newest (id)
