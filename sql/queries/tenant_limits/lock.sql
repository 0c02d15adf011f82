-- Returns the limits that were set for a tenant, and locks its row until the transaction ends, so that two changes of
-- its limits do not overlap.
WITH locked AS (
    SELECT t.id
    FROM tenants t
    WHERE t.id = $1
    FOR UPDATE
)
SELECT locked.id, l.name, l.value
FROM locked
LEFT JOIN tenant_limits l ON l.tenant = locked.id
