DELETE FROM links
WHERE tenant = $1
    AND kind = $2
    AND parent = $3
    AND child = $4
RETURNING child
