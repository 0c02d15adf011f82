-- Returns those of the tenants ($1) that keep measurements with ids below $2: no rule without filters covers all of
-- them.
SELECT t.id
FROM unnest($1::text[]) t (id)
WHERE NOT EXISTS (
    SELECT FROM retention_rules r
    WHERE r.tenant = t.id
        AND coalesce(r.data_type, 'MEASUREMENT') = 'MEASUREMENT'
        AND r.fragment_type IS NULL
        AND r.type IS NULL
        AND r.source IS NULL
        AND r.changed_at < $3
        AND first_id(now() - make_interval(days => r.maximum_age)) >= $2)
