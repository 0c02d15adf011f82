-- Returns whether the lease of a server ($1) was renewed at most $3 seconds before that of this one ($2). A database
-- that is too busy delays both, so the comparison ignores it.
SELECT EXISTS (
    SELECT
    FROM servers holder
    JOIN servers own ON holder.leased_until > own.leased_until - make_interval(secs => $3)
    WHERE holder.incarnation = $1
        AND own.incarnation = $2)
