-- Notes that this server ($1) hears ($3) or only writes a tenant ($2). No row: it does not take part; others counted it
-- as dead.
INSERT INTO publication_listeners (tenant, server, hears)
SELECT $2, incarnation, $3
FROM servers
WHERE incarnation = $1
    AND takes_part
FOR SHARE
ON CONFLICT (tenant, server) DO UPDATE SET hears = publication_listeners.hears OR excluded.hears
