-- Deletes some of what a tenant has; with a null for their number all of it. By place, not by key: so each part costs its
-- own rows, however many there are. A row that moves meanwhile is met by the next part.
DELETE FROM binary_chunks
WHERE tenant = $1
    AND ctid = ANY(ARRAY(
        SELECT few.ctid
        FROM binary_chunks few
        WHERE few.tenant = $1
        ORDER BY few.binary_id, few.number
        LIMIT $2::bigint))
