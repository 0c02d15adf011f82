-- Ends a bulk update, in the transaction of its last step.
DELETE FROM bulk_alarm_updates
WHERE tenant = $1
    AND id = $2
    -- The premise: nobody has taken over.
    AND fence = $3
