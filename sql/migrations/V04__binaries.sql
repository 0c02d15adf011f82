-- Files: the content of managed objects that are binaries.

CREATE TABLE binaries (
    tenant       text NOT NULL,
    id           bigint NOT NULL,
    -- The managed object whose content this is; none as long as it is being uploaded.
    object       bigint,
    name         text,
    content_type text,
    length       bigint,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, object),
    FOREIGN KEY (tenant, object) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE,
    CHECK (object IS NULL OR (name IS NOT NULL AND content_type IS NOT NULL AND length IS NOT NULL))
);

-- What broken uploads leave: few rows, looked at by the hourly sweep.
CREATE INDEX binaries_unfinished ON binaries (created_at) WHERE object IS NULL;

CREATE TABLE binary_chunks (
    tenant    text NOT NULL,
    binary_id bigint NOT NULL,
    number    integer NOT NULL,
    bytes     bytea NOT NULL,
    PRIMARY KEY (tenant, binary_id, number),
    FOREIGN KEY (tenant, binary_id) REFERENCES binaries (tenant, id) ON DELETE CASCADE
);

-- Files are mostly compressed already: trying again would cost time and save nothing.
ALTER TABLE binary_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
