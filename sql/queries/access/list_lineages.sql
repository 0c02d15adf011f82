-- Managed objects, each with itself and everything above it: whose families hear of it (B-19b).
SELECT source.id, array_agg(l.id)
FROM unnest($2::bigint[]) AS source (id)
CROSS JOIN LATERAL lineage($1, source.id) l
GROUP BY source.id
