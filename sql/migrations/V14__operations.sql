-- Operations: what devices are told to do, in the order they were told (document 2, Device control; O-01 to O-10).

-- One sequence for all server processes: ids rise with creation (C-13).
CREATE SEQUENCE operation_ids;

CREATE TABLE operations (
    tenant         text NOT NULL,
    id             bigint NOT NULL,
    device         bigint NOT NULL,
    status         text NOT NULL CHECK (status IN ('PENDING', 'EXECUTING', 'SUCCESSFUL', 'FAILED')),
    failure_reason text,
    -- The bulk operation that made it.
    bulk_operation bigint,
    -- By the clock of the database, and after that of the operation before it of the same device: the order of the queue.
    created_at     timestamptz NOT NULL,
    -- How often a PUT changed it: the premise of the next change.
    revision       bigint NOT NULL DEFAULT 0,
    fragments      json NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, device) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE
);

CREATE INDEX operations_by_time ON operations (tenant, created_at, id);
CREATE INDEX operations_by_status ON operations (tenant, status, created_at, id);
-- The status comes last: it filters without looking the rows up, and leaves the order as it is.
CREATE INDEX operations_by_device ON operations (tenant, device, created_at, id, status);
-- What is not done yet is little, however much was done: what agents ask for.
CREATE INDEX operations_open_by_device ON operations (tenant, device, created_at, id, status)
    WHERE status IN ('PENDING', 'EXECUTING');
-- At most one operation of a bulk operation per device, whatever the number of server processes (K-05).
CREATE UNIQUE INDEX operations_of_bulk ON operations (tenant, bulk_operation, device)
    WHERE bulk_operation IS NOT NULL;
-- The progress of a bulk operation is counted from its operations (K-05), and they are listed in order (O-06).
CREATE INDEX operations_by_bulk ON operations (tenant, bulk_operation, created_at, id, status)
    WHERE bulk_operation IS NOT NULL;
