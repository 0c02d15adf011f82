-- Which of some users there are, each with the transaction that wrote it last.
SELECT name, xmin::text::bigint
FROM users
WHERE tenant = $1
    AND name = ANY($2)
