-- Changes the bounds of a consumer ($2) of a tenant ($1), which are the age ($3) and the bytes ($4) of its backlog, and
-- its filter ($5, or null).
UPDATE consumers
SET max_age = $3,
    max_bytes = $4,
    filter = $5
WHERE tenant = $1
    AND name = $2
