-- Deletes a consumer ($2) of a tenant ($1).
DELETE FROM consumers
WHERE tenant = $1
    AND name = $2
