-- The instant a JSON text tells, in the form every timestamp has; null where it tells none, never an error. The years are
-- 0001 to 9999 (C-12b).
CREATE OR REPLACE FUNCTION instant_of(value jsonb) RETURNS timestamptz
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    parts text[];
    year int;
    month int;
    day int;
    hours int;
    minutes int;
BEGIN
    IF jsonb_typeof(value) <> 'string' THEN
        RETURN NULL;
    END IF;
    parts := regexp_match(
        value #>> '{}',
        '^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(\.[0-9]{1,9})?'
            || '(?:[Zz]|([-+ ])([0-9]{2}):?([0-5][0-9]))$');
    IF parts IS NULL THEN
        RETURN NULL;
    END IF;
    year := parts[1];
    month := parts[2];
    day := parts[3];
    hours := coalesce(parts[9]::int, 0);
    minutes := coalesce(parts[10]::int, 0);
    IF year < 1 OR month NOT BETWEEN 1 AND 12 OR day < 1 OR hours * 60 + minutes > 840 THEN
        RETURN NULL;
    END IF;
    IF day > extract(day FROM make_date(year, month, 1) + interval '1 month' - interval '1 day') THEN
        RETURN NULL;
    END IF;
    RETURN make_timestamptz(
            year, month, day, parts[4]::int, parts[5]::int,
            (parts[6] || coalesce(left(parts[7], 7), ''))::double precision, 'UTC')
        - make_interval(hours => hours, mins => minutes) * CASE parts[8] WHEN '-' THEN -1 ELSE 1 END;
END
$$;
