-- Deletes the records of sessions of users at servers that are gone.
DELETE FROM user_sessions
WHERE server NOT IN (SELECT incarnation FROM servers WHERE leased_until > now() - interval '1 hour')
