-- Deletes all marks of tenants, and with them their rollups.
DELETE FROM measurement_rollup_marks
WHERE tenant = ANY($1)
