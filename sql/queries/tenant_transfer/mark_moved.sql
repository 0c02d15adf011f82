-- Notes that an active tenant ($1) has moved to another deployment. A suspended one stays suspended.
UPDATE tenants
SET
    status = 'SUSPENDED',
    moved_at = now()
WHERE id = $1
    AND status = 'ACTIVE'
