-- Returns managed objects, each with itself and all of its ancestors, whose family channels are notified (B-19b).
SELECT source.id, array_agg(l.id)
FROM unnest($2::bigint[]) AS source (id)
CROSS JOIN LATERAL lineage($1, source.id) l
GROUP BY source.id
