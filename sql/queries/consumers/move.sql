-- Lets a consumer ($2) of a tenant ($1) continue at a place ($3 to $5). It is no longer lapsed, and has missed nothing
-- before that place.
UPDATE consumers
SET position = $3,
    position_at = $4,
    bytes = $5,
    lapsed_at = NULL,
    missed_from = NULL,
    missed_to = NULL
WHERE tenant = $1
    AND name = $2
