-- Deletes the statistics of days more than three years ago.
DELETE FROM tenant_statistics
WHERE day < (now() AT TIME ZONE 'UTC')::date - 1096
