-- Returns whether an active trigger has one of the names ($1) of those that reject the writes of a moving tenant.
SELECT EXISTS (SELECT FROM pg_trigger WHERE tgname = ANY($1) AND tgenabled <> 'D')
