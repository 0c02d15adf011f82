-- Bulk operations: one operation for each device of a group, one after the other (document 2, Bulk operation; K-01 to K-11).

-- Of small numbers, for their ids are JSON numbers; rising with creation (C-13).
CREATE SEQUENCE bulk_operation_ids;

CREATE TABLE bulk_operations (
    tenant        text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id            bigint NOT NULL,
    -- No foreign keys: a group, or an earlier bulk operation, may go before its turn.
    group_id      bigint NOT NULL,
    -- The bulk operation whose failures it repeats.
    failed_parent bigint,
    start_at      timestamptz NOT NULL,
    -- Seconds from one operation to the next.
    ramp          double precision NOT NULL CHECK (ramp >= 0),
    prototype     json NOT NULL,
    status        text NOT NULL CHECK (status IN ('ACTIVE', 'COMPLETED', 'DELETED')),
    -- Who asked.
    creator       text NOT NULL,
    -- Where links in notifications start.
    base          text NOT NULL,
    created_at    timestamptz NOT NULL,
    -- Devices it is for; counted beforehand until they are chosen.
    total         bigint NOT NULL,
    -- Whether its devices are chosen, which they are once, at the start.
    chosen        boolean NOT NULL,
    -- How many had their turn.
    place         bigint NOT NULL,
    -- How many of those were gone by then.
    vanished      bigint NOT NULL,
    -- When the next has its turn.
    due_at        timestamptz NOT NULL,
    -- Rises each time a process takes over, and with each change; a step of an older holder changes nothing.
    fence         bigint NOT NULL,
    -- Until when the holder is believed to be at work.
    leased_until  timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- What is due next, of whatever tenant.
CREATE INDEX bulk_operations_by_due_time ON bulk_operations (due_at) WHERE status = 'ACTIVE';
-- What the list shows (K-07).
CREATE INDEX bulk_operations_shown ON bulk_operations (tenant, id) WHERE status <> 'DELETED';

-- The devices of those under way, in the order of their turns. Who writes them also writes the row of their bulk operation in the
-- same transaction, on the premise that it is there; so a foreign key, which would be asked for each, has nothing to refuse.
CREATE TABLE bulk_operation_targets (
    tenant         text NOT NULL,
    bulk_operation bigint NOT NULL,
    position       bigint NOT NULL,
    -- No foreign key: a device may go before its turn.
    device         bigint NOT NULL,
    PRIMARY KEY (tenant, bulk_operation, position)
);
