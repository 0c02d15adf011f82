-- Activates a tenant ($1) that was noted to have moved.
UPDATE tenants
SET
    status = 'ACTIVE',
    moved_at = NULL
WHERE id = $1
    AND moved_at IS NOT NULL
