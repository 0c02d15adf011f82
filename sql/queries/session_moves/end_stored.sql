-- Deletes the stored sessions of a user ($1, $2) who has a new password. It is part of the caller's transaction.
DELETE FROM stored_sessions WHERE tenant = $1 AND state::json ->> 'user' = $2
