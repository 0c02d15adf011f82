-- Users that belonged to users of a microservice, which are gone, belong to nobody: whoever gets such a name later must not
-- own them.
UPDATE users u
SET owner = NULL
FROM unnest($1::text[], $2::text[]) AS gone (tenant, name)
WHERE u.tenant = gone.tenant
    AND u.owner = gone.name
