-- Joins this server ($1) to a tenant ($2), as a receiver of its publications ($3) or only as a writer. Writes no row
-- if the server is not registered, because others counted it as dead.
INSERT INTO publication_listeners (tenant, server, hears)
SELECT $2, incarnation, $3
FROM servers
WHERE incarnation = $1
    AND takes_part
FOR SHARE
ON CONFLICT (tenant, server) DO UPDATE SET hears = publication_listeners.hears OR excluded.hears
