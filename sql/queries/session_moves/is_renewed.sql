-- Whether a server ($1) has renewed its lease at most $3 seconds before this one ($2) last did. If the database was too
-- busy for either of them, neither is late.
SELECT EXISTS (
    SELECT
    FROM servers holder
    JOIN servers own ON holder.leased_until > own.leased_until - make_interval(secs => $3)
    WHERE holder.incarnation = $1
        AND own.incarnation = $2)
