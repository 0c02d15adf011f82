-- The version that is about to be replaced; its files and chunks go with it by the foreign keys.
DELETE FROM binaries
WHERE tenant = $1
    AND application = $2
