-- Whether another server takes part, and whether the transactions of this one ($1) assert.
SELECT EXISTS (SELECT FROM publication_servers AS other WHERE other.server <> $1), asserts
FROM publication_servers
WHERE server = $1
