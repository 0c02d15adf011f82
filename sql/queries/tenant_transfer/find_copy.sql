-- Returns whether a tenant ($1) was created at a moment ($2): a copy has the moment of its original.
SELECT created_at = $2
FROM tenants
WHERE id = $1
