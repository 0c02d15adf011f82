DELETE FROM device_placements
WHERE tenant = $1
    AND user_name = $2
