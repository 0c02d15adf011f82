-- Returns the owner, the bounds, the position, its time, the newest position and the filter of a consumer ($2) of a
-- tenant ($1), and locks it.
SELECT
    consumers.owner,
    consumers.max_age,
    consumers.max_bytes,
    consumers.position,
    consumers.position_at,
    journals.newest,
    consumers.filter
FROM consumers
JOIN journals ON journals.tenant = consumers.tenant
WHERE consumers.tenant = $1
    AND consumers.name = $2
FOR UPDATE OF consumers
