-- How much each tenant uses (Z-07): its devices, and the bytes it stores. One server at a time measures it.

-- Devices are counted from this index alone. A deployment with another prefix of fragments counts them by the index of
-- fragments, which takes longer.
CREATE INDEX managed_objects_devices ON managed_objects (tenant, id)
    WHERE fragment_names @> ARRAY['plat_IsDevice'::text];

CREATE TABLE tenant_usage (
    tenant                text PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    measured_at           timestamptz NOT NULL,
    devices               bigint NOT NULL,
    devices_with_children bigint NOT NULL,
    stored_bytes          bigint NOT NULL,
    -- The tables and partitions with rows of the tenant: {"<name>": [<rows>, <bytes>]}.
    tables                jsonb NOT NULL
);

-- The tables and partitions of the deployment, as they were measured last.
CREATE TABLE table_sizes (
    name    text PRIMARY KEY,
    rows    bigint NOT NULL,
    bytes   bigint NOT NULL,
    -- The share of its pages that were read to find out to whom its rows belong.
    sampled float8 NOT NULL
);

-- The size of the database over time, for its growth.
CREATE TABLE database_sizes (
    measured_at timestamptz PRIMARY KEY,
    bytes       bigint NOT NULL
);

-- Which server measures, until when, and when it is due again. There is one row.
CREATE TABLE usage_measurement (
    id           smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    due_at       timestamptz NOT NULL DEFAULT '-infinity',
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    fence        bigint NOT NULL DEFAULT 0
);

INSERT INTO usage_measurement DEFAULT VALUES;

-- The statistics of a tenant and a day in UTC. Servers add to what is counted and replace what is measured.
CREATE TABLE tenant_statistics (
    tenant                  text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    day                     date NOT NULL,
    requests                bigint NOT NULL DEFAULT 0,
    device_requests         bigint NOT NULL DEFAULT 0,
    alarms_created          bigint NOT NULL DEFAULT 0,
    alarms_updated          bigint NOT NULL DEFAULT 0,
    events_created          bigint NOT NULL DEFAULT 0,
    events_updated          bigint NOT NULL DEFAULT 0,
    inventories_created     bigint NOT NULL DEFAULT 0,
    inventories_updated     bigint NOT NULL DEFAULT 0,
    measurements_created    bigint NOT NULL DEFAULT 0,
    operations_created      bigint NOT NULL DEFAULT 0,
    operations_updated      bigint NOT NULL DEFAULT 0,
    notifications_delivered bigint NOT NULL DEFAULT 0,
    sessions_peak           bigint NOT NULL DEFAULT 0,
    -- Null until they are measured on this day.
    devices                 bigint,
    devices_with_children   bigint,
    stored_bytes            bigint,
    subscribed_applications text[],
    PRIMARY KEY (tenant, day)
);

CREATE INDEX tenant_statistics_by_day ON tenant_statistics (day, tenant);

-- To whom the rows of a table belong: the number of rows of each tenant, and the sum of their widths. Of a table with more
-- pages than these, so many are read at random and the result is scaled. Nothing for a table that was dropped meanwhile.
CREATE FUNCTION tenant_shares(of_table text, most_pages bigint)
    RETURNS TABLE (of_tenant text, row_count float8, widths float8, sampled float8)
    LANGUAGE plpgsql STABLE AS $$
DECLARE
    pages   bigint := pg_relation_size(to_regclass(quote_ident(of_table)))
        / current_setting('block_size')::bigint;
    portion float8 := least(1, most_pages / greatest(pages, 1)::float8);
    width   text;
BEGIN
    -- A row has a header of 28 bytes. The width of a value that is stored outside of its row is read from its pointer.
    SELECT string_agg(format('coalesce(pg_column_size(d.%I), 0)', a.attname), ' + ') INTO width
    FROM pg_attribute a
    WHERE a.attrelid = to_regclass(quote_ident(of_table))
        AND a.attnum > 0
        AND NOT a.attisdropped;
    IF width IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT d.tenant, count(*) / %1$s::float8, sum(28 + %2$s) / %1$s::float8, %1$s::float8 FROM %3$I d %4$s '
            || 'GROUP BY d.tenant',
        portion, width, of_table,
        CASE WHEN portion < 1 THEN format('TABLESAMPLE SYSTEM (%s)', 100 * portion) END);
EXCEPTION
    WHEN undefined_table THEN
        RETURN;
END
$$;
