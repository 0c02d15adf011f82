-- Deletes abandoned uploads of all tenants. A day is longer than an upload may take. Another server that sweeps
-- concurrently takes other rows.
DELETE FROM binaries b
USING (
    SELECT tenant, id
    FROM binaries
    WHERE object IS NULL
        AND event IS NULL
        AND application IS NULL
        AND created_at < now() - interval '1 day'
    ORDER BY created_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
) leftover
WHERE b.tenant = leftover.tenant
    AND b.id = leftover.id
