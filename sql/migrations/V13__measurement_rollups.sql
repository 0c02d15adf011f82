-- What a series by hours or days needs of very many measurements: the least and the greatest numbers of each hour. Built
-- when such a series is read, never when a measurement is written (store/measurement_rollups.rs).

-- The rollups of a source hold exactly its measurements with an id below `rolled`, of those shapes whose numbers are in the
-- index of sources. Ids rise with the time of arrival, whatever times devices make up: so what comes later, of any time,
-- lies above the mark.
CREATE TABLE measurement_rollup_marks (
    tenant text NOT NULL,
    source bigint NOT NULL,
    rolled bigint NOT NULL,
    PRIMARY KEY (tenant, source),
    FOREIGN KEY (tenant, source) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE
);

-- Who deletes a mark deletes the rollups with it.
CREATE TABLE measurement_rollups (
    tenant     text NOT NULL,
    source     bigint NOT NULL,
    shape      bigint NOT NULL,
    -- Where the hour begins by the clock of the device, and the offset of that clock in minutes.
    hour       timestamp NOT NULL,
    zone       smallint NOT NULL,
    -- The first measurement: of several offsets the first gives a bucket its name (G-07).
    first_time timestamptz NOT NULL,
    -- Of each number of the shape, in its order.
    least      float8[] NOT NULL,
    greatest   float8[] NOT NULL,
    PRIMARY KEY (tenant, source, shape, hour, zone),
    FOREIGN KEY (tenant, source) REFERENCES measurement_rollup_marks (tenant, source) ON DELETE CASCADE
);
