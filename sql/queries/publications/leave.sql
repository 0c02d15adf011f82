-- Ends the part of this server ($1) in all tenants.
DELETE FROM publication_servers WHERE server = $1
