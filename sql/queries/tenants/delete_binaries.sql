-- Deletes some of what a tenant has; with a null for their number all of it. By place, not by key: so each part costs its
-- own rows, however many there are. A row that moves meanwhile is met by the next part.
DELETE FROM binaries
WHERE tenant = $1
    AND ctid = ANY(ARRAY(
        SELECT few.ctid
        FROM binaries few
        WHERE few.tenant = $1
        ORDER BY few.id
        LIMIT $2::bigint))
