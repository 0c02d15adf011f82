-- Measurements. A fleet sends the same few kinds of measurements over and over; what a kind consists of (type, names of
-- fragments and series, units) is its *shape*, stored once. A measurement is then its shape and its numbers.

-- `id` is a digest of `definition`, so that whoever writes needs not ask which number a shape has.
CREATE TABLE measurement_shapes (
    tenant     text NOT NULL,
    id         bigint NOT NULL,
    type       text NOT NULL,
    -- Names of all top-level members, for the filter `fragmentType` (G-04).
    members    text[] NOT NULL,
    -- Names of the members that hold series, for `valueFragmentType`.
    fragments  text[] NOT NULL,
    -- `<fragment>.<series>`, in the order of the numbers of a measurement.
    series     text[] NOT NULL,
    definition json NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- Which shapes a source has sent: read by supportedMeasurements and supportedSeries (I-09) and to find the numbers of a
-- series, without touching a measurement. Takes the place of `measurement_series`, which nothing has ever filled.
CREATE TABLE source_shapes (
    tenant text NOT NULL,
    source bigint NOT NULL,
    shape  bigint NOT NULL,
    -- The first measurement: gives the order in which the shapes were seen (G-06).
    first  bigint NOT NULL,
    PRIMARY KEY (tenant, source, shape),
    FOREIGN KEY (tenant, source) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE
);

DROP TABLE measurement_series;

-- Partitioned by the time of arrival, which the id begins with: whatever times devices make up, there is one partition a
-- month, and a measurement is found by its id in one of them.
--
-- No foreign key: its check would cost a fifth of an insert. The insert locks the source against deletion, a deletion
-- takes the measurements along (store/measurements.rs).
CREATE TABLE measurements (
    tenant        text NOT NULL,
    id            bigint NOT NULL,
    source        bigint NOT NULL,
    time          timestamptz NOT NULL,
    -- The same instant by the clock of the device: with its offset, so that buckets begin where its days begin (G-07).
    local_time    timestamp NOT NULL,
    shape         bigint NOT NULL,
    -- The numbers of the series in the order of the shape.
    readings      float8[],
    -- Takes their place where there are too many for an entry of an index.
    wide_readings float8[],
    -- The fragments as they were sent, where shape and numbers cannot give them back: other members, numbers no double
    -- holds exactly.
    verbatim      json,
    PRIMARY KEY (tenant, id)
) PARTITION BY RANGE (id);

-- Holds all that a series needs: the rows of a source lie scattered among those of the fleet.
CREATE INDEX measurements_by_source ON measurements (tenant, source, time, id) INCLUDE (local_time, shape, readings);
CREATE INDEX measurements_by_time ON measurements (tenant, time, id);

-- What arrives outside of the partitions made ahead, because some clock is wrong.
CREATE TABLE measurements_other PARTITION OF measurements DEFAULT;

-- The first id of a moment; ids hold milliseconds since 2025 (model/id.rs).
CREATE FUNCTION first_id(moment timestamptz) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (greatest(extract(epoch FROM moment) - 1735689600, 0) * 1000)::bigint << 20;

-- Makes the partition of a month unless it stands; says whether it was made. Not while its measurements lie in the
-- partition for wrong clocks already: there they stay.
CREATE FUNCTION make_measurement_partition(of_month timestamptz) RETURNS boolean
    LANGUAGE plpgsql AS $$
DECLARE
    starts timestamptz := date_trunc('month', of_month, 'UTC');
    low    bigint := first_id(starts);
    high   bigint := first_id(starts + interval '1 month');
    name   text := 'measurements_' || to_char(starts AT TIME ZONE 'UTC', 'YYYY_MM');
BEGIN
    IF to_regclass(name) IS NOT NULL
        OR EXISTS (SELECT FROM measurements_other WHERE id >= low AND id < high) THEN
        RETURN false;
    END IF;
    EXECUTE format(
        'CREATE TABLE %I PARTITION OF measurements FOR VALUES FROM (%s) TO (%s) '
        -- Reads from the index alone need rows that vacuum has seen: not only four fifths of a month.
        'WITH (autovacuum_vacuum_insert_scale_factor = 0.02)',
        name, low, high);
    RETURN true;
END
$$;
