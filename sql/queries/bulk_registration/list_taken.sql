-- Which of some external ids are taken, by their place in the list.
SELECT given.place
FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS given (type, value, place)
JOIN external_ids e ON e.tenant = $1 AND e.type = given.type AND e.value = given.value
