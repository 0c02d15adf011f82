-- Returns the tenants whose journals are written although they have no consumers, for example because the owner of the
-- last one was deleted.
SELECT tenant
FROM journals
WHERE is_written
    AND NOT EXISTS (SELECT FROM consumers WHERE consumers.tenant = journals.tenant)
