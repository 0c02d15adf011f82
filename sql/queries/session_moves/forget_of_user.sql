-- Notes that a user ($1, $2) has no sessions at this server ($3).
DELETE FROM user_sessions WHERE tenant = $1 AND user_name = $2 AND server = $3
