-- Appends the chunks of an upload to another file. The bytes themselves are not copied, because a value that is stored
-- out of line stays in place when other columns of its row change.
UPDATE binary_chunks
SET
    binary_id = $3,
    number = number + (
        SELECT coalesce(max(c.number) + 1, 0)
        FROM binary_chunks c
        WHERE c.tenant = $1
            AND c.binary_id = $3
    )
WHERE tenant = $1
    AND binary_id = $2
