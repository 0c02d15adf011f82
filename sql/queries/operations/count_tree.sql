-- How many devices an agent answers for, itself included.
SELECT count(*)
FROM descendants($1, $2, ARRAY['childDevices'])
