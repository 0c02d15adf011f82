-- Whether no other server than this one ($1) lives. One counts as living until its lease ended $2 seconds ago.
SELECT NOT EXISTS (
    SELECT FROM servers WHERE incarnation <> $1 AND leased_until > now() - make_interval(secs => $2))
