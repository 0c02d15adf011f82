-- Returns whether no server except this one ($1) lives. A server counts as living until its lease ended $2 seconds
-- ago.
SELECT NOT EXISTS (
    SELECT FROM servers WHERE incarnation <> $1 AND leased_until > now() - make_interval(secs => $2))
