SELECT p.group_id
FROM device_placements p
WHERE p.tenant = $1
    AND p.user_name = $2
    -- Only the first device of a user is placed in the group (N-04), even if the placement was not deleted in time.
    AND NOT EXISTS (
        SELECT
        FROM managed_objects o
        WHERE o.tenant = p.tenant
            AND o.owner = p.user_name
            AND $3 = ANY(o.fragment_names))
