-- Returns devices with an alarm about the end of a certificate that have got a later one, and ends the alarm.
UPDATE device_certificates d
SET warned_at = NULL
FROM (
    SELECT c.tenant, c.fingerprint, device.id
    FROM device_certificates c
    JOIN LATERAL (
        SELECT o.id
        FROM managed_objects o
        WHERE o.tenant = c.tenant
            AND o.owner = c.user_name
            AND $1 = ANY(o.fragment_names)
        ORDER BY o.id
        LIMIT 1
    ) AS device ON true
    WHERE c.warned_at IS NOT NULL
        AND EXISTS (
            SELECT FROM device_certificates later
            WHERE later.tenant = c.tenant
                AND later.user_name = c.user_name
                AND later.not_after > c.not_after
        )
    LIMIT 100
    FOR UPDATE OF c SKIP LOCKED
) AS renewed
WHERE d.tenant = renewed.tenant
    AND d.fingerprint = renewed.fingerprint
RETURNING d.tenant, d.fingerprint, renewed.id, d.not_after
