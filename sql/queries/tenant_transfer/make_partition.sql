-- Makes a partition of a name ($1) of list_partitions.sql, unless it is there.
SELECT CASE
    WHEN to_regclass($1) IS NOT NULL THEN false
    WHEN starts_with($1, 'measurements_')
        THEN make_measurement_partition(to_timestamp(right($1, 7) || ' +00', 'YYYY_MM TZH'))
    ELSE make_journal_partition(to_timestamp(right($1, 13) || ' +00', 'YYYY_MM_DD_HH24 TZH'))
END
