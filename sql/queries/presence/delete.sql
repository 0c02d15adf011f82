DELETE FROM presence p
USING unnest($1::text[], $2::text[]) AS gone (tenant, user_name)
WHERE p.tenant = gone.tenant
    AND p.user_name = gone.user_name
    AND p.process = $3
