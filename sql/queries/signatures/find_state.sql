-- Returns whether every registered server signs, whether unsigned messages are ignored as long as that is so, and
-- whether any server is registered.
SELECT
    NOT EXISTS (SELECT FROM publication_servers WHERE NOT signs),
    EXISTS (SELECT FROM deployment WHERE name = 'unsigned messages are ignored'),
    EXISTS (SELECT FROM publication_servers)
