-- Deletes some of what a tenant has; with a null for their number all of it. By place, not by key: so each part costs its
-- own rows, however many there are. A row that moves meanwhile is met by the next part.
DELETE FROM external_ids
WHERE tenant = $1
    AND ctid = ANY(ARRAY(
        SELECT few.ctid
        FROM external_ids few
        WHERE few.tenant = $1
        ORDER BY few.type, few.value
        LIMIT $2::bigint))
