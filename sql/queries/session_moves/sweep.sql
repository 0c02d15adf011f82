-- Deletes the records of sessions that moved to servers that are gone.
DELETE FROM moved_sessions
WHERE holder NOT IN (SELECT incarnation FROM servers WHERE leased_until > now() - interval '1 hour')
