-- Ends the presence of users. The time stays stored as that of the disconnect.
UPDATE presence p
SET connected_until = now()
FROM unnest($1::text[], $2::text[]) AS gone (tenant, user_name)
WHERE p.tenant = gone.tenant
    AND p.user_name = gone.user_name
    AND p.process = $3
    AND p.connected_until > now()
