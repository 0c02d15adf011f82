SELECT tenant, id, name, user_name, scope, created_at
FROM token_clients
WHERE tenant = $1
    AND id = $2
