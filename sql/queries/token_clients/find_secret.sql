-- Returns the hash with which the secret of a token request is compared, only for a client whose tokens could be used.
SELECT c.tenant, c.secret_hash
FROM token_clients c
JOIN users u ON u.tenant = c.tenant AND u.name = c.user_name
JOIN tenants t ON t.id = c.tenant
WHERE c.id = $1
    AND u.enabled
    AND t.status = 'ACTIVE'
