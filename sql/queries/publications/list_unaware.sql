-- Returns the tokens of other servers ($1 is this one) whose transactions may not assert yet.
SELECT token FROM publication_servers WHERE server <> $1 AND NOT asserts
