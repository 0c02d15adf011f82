-- Deletes a client. The foreign key deletes its tokens.
DELETE FROM token_clients
WHERE tenant = $1
    AND id = $2
RETURNING user_name
