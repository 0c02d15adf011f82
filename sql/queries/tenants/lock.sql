-- Locks a tenant, so that the limit on the tenants that it creates is checked by one transaction after the other. The
-- count is a statement of its own, because a statement that waited for the lock still sees the tenants as they were.
SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE
