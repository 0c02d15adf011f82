-- Ends the journal of a tenant ($1) if it has no consumers.
UPDATE journals
SET is_written = false
WHERE tenant = $1
    AND is_written
    AND NOT EXISTS (SELECT FROM consumers WHERE consumers.tenant = journals.tenant)
