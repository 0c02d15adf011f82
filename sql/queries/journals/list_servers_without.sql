-- Returns the names of registered servers that do not write journals, because they have an earlier version.
SELECT servers.name
FROM publication_servers
JOIN servers ON servers.incarnation = publication_servers.server
WHERE NOT publication_servers.writes_journals
