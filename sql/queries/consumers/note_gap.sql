-- Notes that a consumer ($2) of a tenant ($1), which continues at a place ($4 to $6), missed all notifications from a
-- position ($3) up to that place, because the journal has them no longer.
UPDATE consumers
SET position = $4,
    position_at = $5,
    bytes = $6,
    missed_from = coalesce(missed_from, $3),
    missed_to = $4
WHERE tenant = $1
    AND name = $2
    AND position < $4
