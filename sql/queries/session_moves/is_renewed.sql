-- Whether a server ($1) has renewed its lease, which lasts $2 seconds, within the last $3 seconds.
SELECT EXISTS (
    SELECT FROM servers WHERE incarnation = $1 AND leased_until > now() + make_interval(secs => $2 - $3))
