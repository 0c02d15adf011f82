-- Returns the identity columns of tables, with their sequences.
SELECT c.relname::text, a.attname::text, pg_get_serial_sequence(quote_ident(c.relname), a.attname)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace
    AND c.relname = ANY($1)
    AND a.attidentity <> ''
ORDER BY c.relname
