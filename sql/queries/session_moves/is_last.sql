-- Whether no other server than this one ($1) lives.
SELECT NOT EXISTS (SELECT FROM servers WHERE incarnation <> $1 AND leased_until > now())
    AND NOT EXISTS (SELECT FROM publication_servers WHERE server <> $1 AND leased_until > now())
