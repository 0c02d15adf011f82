-- Stores the sizes of the tables and partitions.
INSERT INTO table_sizes (name, rows, bytes, sampled)
SELECT name, rows, bytes, sampled
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::float8[]) AS t (name, rows, bytes, sampled)
ON CONFLICT (name) DO UPDATE
SET
    rows = excluded.rows,
    bytes = excluded.bytes,
    sampled = excluded.sampled
