-- Retention (Z-08): which data of a tenant is deleted by age, and the daily runs that do it.

-- NULL in a filter matches everything, which the API shows as `*`.
CREATE TABLE retention_rules (
    tenant        text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id            bigint NOT NULL,
    data_type     text CHECK (data_type IN ('ALARM', 'AUDIT', 'EVENT', 'MEASUREMENT', 'OPERATION')),
    fragment_type text,
    type          text,
    source        bigint,
    -- In days.
    maximum_age   integer NOT NULL CHECK (maximum_age > 0),
    -- A rule applies from the first run that is due after its last change, so that a mistake can be corrected.
    changed_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id)
);

-- One run per tenant and day. The server that holds its lease makes its steps.
CREATE TABLE retention_runs (
    tenant       text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    due_at       timestamptz NOT NULL,
    begun_at     timestamptz NOT NULL DEFAULT now(),
    ended_at     timestamptz,
    leased_until timestamptz NOT NULL,
    fence        bigint NOT NULL DEFAULT 1,
    -- How many of each data type were deleted.
    deleted      jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, due_at)
);

CREATE INDEX retention_runs_unfinished ON retention_runs (leased_until) WHERE ended_at IS NULL;

-- Returns the tenants that have rows in a partition of the measurements, by one step into the index for each.
CREATE FUNCTION tenants_in_partition(name text) RETURNS text[]
    LANGUAGE plpgsql STABLE AS $$
DECLARE
    found   text[];
    current text;
BEGIN
    EXECUTE format('SELECT min(tenant) FROM %I', name) INTO current;
    WHILE current IS NOT NULL LOOP
        found := found || current;
        EXECUTE format('SELECT min(tenant) FROM %I WHERE tenant > $1', name) INTO current USING current;
    END LOOP;
    RETURN coalesce(found, '{}');
END
$$;
