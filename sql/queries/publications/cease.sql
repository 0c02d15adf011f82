-- Ends the part of this server ($1) in a tenant ($2) that it does not hear, unless it writes ($3) what another one hears.
DELETE FROM publication_listeners AS own
WHERE own.server = $1
    AND own.tenant = $2
    AND NOT ($3 AND EXISTS (
        SELECT
        FROM publication_listeners AS other
        WHERE other.tenant = own.tenant
            AND other.server <> own.server
            AND other.hears))
