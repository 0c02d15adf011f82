-- Changes the bounds of a consumer ($2) of a tenant ($1): the age ($3) and the bytes ($4) of its backlog.
UPDATE consumers
SET max_age = $3,
    max_bytes = $4
WHERE tenant = $1
    AND name = $2
