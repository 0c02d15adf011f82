-- Deletes the records that these sessions ($1) have moved to this server ($2), because they have ended.
DELETE FROM moved_sessions WHERE client = ANY($1) AND holder = $2
