-- Returns how many managed objects have this owner, up to a number, whether or not a user of that name exists.
SELECT count(*) FROM (SELECT FROM managed_objects WHERE tenant = $1 AND owner = $2 LIMIT $3) AS owned
