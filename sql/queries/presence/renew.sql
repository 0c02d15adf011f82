-- Promises that users stay connected for a while ($4, seconds). A user who is gone meanwhile is left out.
INSERT INTO presence (tenant, user_name, process, connected_until)
SELECT here.tenant, here.user_name, $3, now() + make_interval(secs => $4)
FROM unnest($1::text[], $2::text[]) AS here (tenant, user_name)
JOIN users u ON u.tenant = here.tenant AND u.name = here.user_name
ON CONFLICT (tenant, user_name, process) DO UPDATE SET connected_until = excluded.connected_until
