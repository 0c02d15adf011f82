-- Which series a source has measured: read by supportedMeasurements and supportedSeries without touching a measurement
-- (I-09). Filled by what stores measurements.
CREATE TABLE measurement_series (
    tenant   text NOT NULL,
    source   bigint NOT NULL,
    fragment text NOT NULL,
    series   text NOT NULL,
    PRIMARY KEY (tenant, source, fragment, series),
    FOREIGN KEY (tenant, source) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE
);
