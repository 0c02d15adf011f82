-- Whether another server takes part. $1 is this server.
SELECT EXISTS (SELECT FROM publication_servers WHERE server <> $1)
