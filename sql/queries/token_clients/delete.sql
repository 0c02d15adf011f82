-- Its tokens go with it.
DELETE FROM token_clients
WHERE tenant = $1
    AND id = $2
RETURNING user_name
