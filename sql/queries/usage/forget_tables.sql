-- Deletes the sizes of tables that were dropped.
DELETE FROM table_sizes
WHERE name <> ALL ($1::text[])
