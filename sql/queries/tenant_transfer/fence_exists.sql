-- Returns whether a trigger has one of the names ($1) of the triggers that reject the writes of a moving tenant.
SELECT EXISTS (SELECT FROM pg_trigger WHERE tgname = ANY($1))
