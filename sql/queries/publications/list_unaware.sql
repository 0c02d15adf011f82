-- The names of the connections of other living servers ($1 is this one) whose transactions may not assert yet.
SELECT application_name FROM publication_servers WHERE server <> $1 AND NOT asserts AND leased_until > now()
