-- Deletes the version that is about to be replaced. The foreign keys delete its files and chunks.
DELETE FROM binaries
WHERE tenant = $1
    AND application = $2
