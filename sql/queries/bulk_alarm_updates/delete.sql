-- Ends a bulk update, in the transaction of its last step.
DELETE FROM bulk_alarm_updates
WHERE tenant = $1
    AND id = $2
    -- No other process has taken over.
    AND fence = $3
