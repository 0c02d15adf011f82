-- Whether an agent stands at a device or above it, by childDevices links alone.
SELECT EXISTS (
    SELECT
    FROM lineage($1, $2) l
    JOIN managed_objects o ON o.tenant = $1 AND o.id = l.id
    WHERE l.by_devices
        AND o.fragment_names @> ARRAY[$3])
