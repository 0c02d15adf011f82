-- Returns the tenant of a consumer key, which requests present without a tenant.
SELECT tenant
FROM token_clients
WHERE id = $1
