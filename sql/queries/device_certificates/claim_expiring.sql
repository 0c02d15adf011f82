-- Returns certificates that end within the given days ($1), and that are the last of their device, with the device, and
-- notes that an alarm is raised about them. A certificate whose device has created no object yet is left out.
UPDATE device_certificates d
SET warned_at = now()
FROM (
    SELECT c.tenant, c.fingerprint, device.id
    FROM device_certificates c
    JOIN tenants t ON t.id = c.tenant AND t.status = 'ACTIVE'
    JOIN LATERAL (
        SELECT o.id
        FROM managed_objects o
        WHERE o.tenant = c.tenant
            AND o.owner = c.user_name
            AND $2 = ANY(o.fragment_names)
        ORDER BY o.id
        LIMIT 1
    ) AS device ON true
    WHERE c.not_after BETWEEN now() - interval '1 day' AND now() + make_interval(days => $1)
        AND c.warned_at IS NULL
        AND NOT EXISTS (
            SELECT FROM device_certificates later
            WHERE later.tenant = c.tenant
                AND later.user_name = c.user_name
                AND later.not_after > c.not_after
        )
    ORDER BY c.not_after
    LIMIT 100
    FOR UPDATE OF c SKIP LOCKED
) AS expiring
WHERE d.tenant = expiring.tenant
    AND d.fingerprint = expiring.fingerprint
RETURNING d.tenant, d.fingerprint, expiring.id, d.not_after
