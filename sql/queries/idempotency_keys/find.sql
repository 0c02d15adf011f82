SELECT request, location, response
FROM idempotency_keys
WHERE tenant = $1
    AND user_name = $2
    AND key = $3
