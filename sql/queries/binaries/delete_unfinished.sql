-- An upload that was given up; one that became somebody's content stays.
DELETE FROM binaries
WHERE tenant = $1
    AND id = $2
    AND object IS NULL
    AND event IS NULL
    AND application IS NULL
