-- Deletes the record of the sessions of a user ($1, $2) at this server ($3), because none is left.
DELETE FROM user_sessions WHERE tenant = $1 AND user_name = $2 AND server = $3
