-- Notes that this server ($1) is alone and asserts no more, unless there is another one. The caller has locked the table.
UPDATE publication_servers
SET asserts = false
WHERE server = $1
    AND NOT EXISTS (SELECT FROM publication_servers AS other WHERE other.server <> $1)
