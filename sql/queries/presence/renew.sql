-- Marks users as connected for $4 seconds. A user that was deleted meanwhile is left out. Expired rows of other
-- processes are deleted, because they have no information any more.
WITH here AS (
    SELECT here.tenant, here.user_name
    FROM unnest($1::text[], $2::text[]) AS here (tenant, user_name)
    JOIN users u ON u.tenant = here.tenant AND u.name = here.user_name
), forgotten AS (
    DELETE FROM presence p
    USING here
    WHERE p.tenant = here.tenant
        AND p.user_name = here.user_name
        AND p.process <> $3
        AND p.connected_until < now()
)
INSERT INTO presence (tenant, user_name, process, connected_until)
SELECT here.tenant, here.user_name, $3, now() + make_interval(secs => $4)
FROM here
ON CONFLICT (tenant, user_name, process) DO UPDATE SET connected_until = excluded.connected_until
