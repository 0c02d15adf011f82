-- Returns the other living servers ($1 is this one) that can take over its sessions: those that accept new clients,
-- or else those that the operator drains. If all others are stopping too, each hands its sessions to an older one,
-- and the oldest stores them.
WITH living AS (
    SELECT
        incarnation,
        CASE state WHEN 'UP' THEN 1 WHEN 'DRAINING' THEN 2 ELSE 3 END AS preference
    FROM servers
    WHERE incarnation <> $1
        AND leased_until > now()
)
SELECT incarnation, preference = 1
FROM living
WHERE preference = (SELECT min(preference) FROM living)
    AND (preference < 3 OR incarnation < $1)
ORDER BY incarnation
