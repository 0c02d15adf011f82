-- Deletes the traces that have ended for some seconds ($1).
DELETE FROM traces
WHERE ends_at <= now() - make_interval(secs => $1)
