-- Counts a code before it is compared, so that concurrent guesses are counted too. From the number $3 on, each further
-- code must wait: first for $4 seconds, then twice as long each time, at most for $5 seconds. Returns the secret if no
-- wait is due, and the seconds that are left of it otherwise.
WITH counted AS (
    UPDATE second_factors f
    SET tried = f.tried + 1,
        next_at = clock_timestamp() + CASE
            WHEN f.tried + 1 < $3 THEN interval '0'
            ELSE make_interval(secs => least($4::float8 * power(2, least(f.tried + 1 - $3, 20)), $5::float8))
        END
    WHERE f.tenant = $1
        AND f.user_name = $2
        AND f.active
        AND f.next_at <= clock_timestamp()
    RETURNING f.sealed_secret
)
SELECT c.sealed_secret, extract(epoch FROM f.next_at - clock_timestamp())::float8
FROM second_factors f
LEFT JOIN counted c ON true
WHERE f.tenant = $1
    AND f.user_name = $2
    AND f.active
