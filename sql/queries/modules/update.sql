-- Renames, deploys or undeploys. Deployed anew it is another deployment, in which no statement was switched off yet.
UPDATE modules
SET
    name = $3,
    deployed = $4,
    deployment = deployment + CASE WHEN $4 AND NOT deployed THEN 1 ELSE 0 END,
    switched_off = CASE WHEN $4 AND NOT deployed THEN '[]' ELSE switched_off END,
    last_modified = $5,
    warnings = $6
WHERE tenant = $1
    AND id = $2
