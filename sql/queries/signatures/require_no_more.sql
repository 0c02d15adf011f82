-- Notes that unsigned messages are accepted, because a server that does not sign is registered.
DELETE FROM deployment WHERE name = 'unsigned messages are ignored'
