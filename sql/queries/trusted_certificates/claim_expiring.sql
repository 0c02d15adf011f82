-- Returns authorities in use that end within the given days ($1), and notes that an alarm is raised about them.
UPDATE trusted_certificates c
SET warned_at = now()
FROM tenants t
WHERE t.id = c.tenant
    AND t.status = 'ACTIVE'
    AND c.not_after BETWEEN now() - interval '1 day' AND now() + make_interval(days => $1)
    AND c.enabled
    AND c.proven
    AND c.warned_at IS NULL
RETURNING c.tenant, c.fingerprint, c.name, c.not_after
