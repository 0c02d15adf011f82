-- The alarm about the lapse of a consumer ($2) of a tenant ($1) was raised.
UPDATE consumers
SET alarm_begun_at = NULL
WHERE tenant = $1
    AND name = $2
