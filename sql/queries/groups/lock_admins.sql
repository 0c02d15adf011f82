-- Whoever takes an administrator away waits for the one before: two could take away each other (U-15).
SELECT id
FROM groups
WHERE tenant = $1
    AND name = 'admins'
FOR NO KEY UPDATE
