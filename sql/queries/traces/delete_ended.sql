-- Deletes the traces that have ended.
DELETE FROM traces
WHERE ends_at <= now()
