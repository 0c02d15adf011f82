-- Removes this server ($1) from a tenant ($2), unless it writes the tenant ($3) and another server receives its
-- publications.
DELETE FROM publication_listeners AS own
WHERE own.server = $1
    AND own.tenant = $2
    AND NOT ($3 AND EXISTS (
        SELECT
        FROM publication_listeners AS other
        WHERE other.tenant = own.tenant
            AND other.server <> own.server
            AND other.hears))
