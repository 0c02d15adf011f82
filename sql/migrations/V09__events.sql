-- Events, and the files that belong to them.

CREATE TABLE events (
    tenant      text NOT NULL,
    id          bigint NOT NULL,
    source      bigint NOT NULL,
    type        text NOT NULL,
    time        timestamptz NOT NULL,
    time_offset smallint NOT NULL,
    text        text NOT NULL,
    created_at  timestamptz NOT NULL,
    -- How often it was changed: the premise of the next change.
    revision    bigint NOT NULL DEFAULT 0,
    fragments   json NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, source) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE
);

CREATE INDEX events_by_time ON events (tenant, time, id);
CREATE INDEX events_by_source ON events (tenant, source, time, id);

-- A file belongs to a managed object or to an event, or to nobody while it is being uploaded. (A server of the version
-- before takes those of events for leftovers after a day; it does not run beside this one for so long.)
ALTER TABLE binaries
    ADD COLUMN event bigint,
    -- The event's file of which more chunks are to come: `length` counts the bytes so far, `created_at` is the time of the
    -- last chunk.
    ADD COLUMN incomplete boolean NOT NULL DEFAULT false,
    ADD FOREIGN KEY (tenant, event) REFERENCES events (tenant, id) ON DELETE CASCADE,
    ADD CHECK (event IS NULL OR object IS NULL),
    ADD CHECK (event IS NULL OR (name IS NOT NULL AND content_type IS NOT NULL AND length IS NOT NULL)),
    ADD CHECK (event IS NOT NULL OR NOT incomplete);

CREATE UNIQUE INDEX binaries_of_event ON binaries (tenant, event) WHERE event IS NOT NULL;
-- What was given up between two chunks: few rows, looked at by the hourly sweep.
CREATE INDEX binaries_incomplete ON binaries (created_at) WHERE incomplete;

DROP INDEX binaries_unfinished;
CREATE INDEX binaries_unfinished ON binaries (created_at) WHERE object IS NULL AND event IS NULL;
