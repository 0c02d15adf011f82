-- What processes left that are gone.
DELETE FROM presence
WHERE connected_until < now()
