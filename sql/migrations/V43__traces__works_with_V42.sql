-- Traces of notifications (B-37), which all servers record until they end. Servers of earlier versions record nothing.

CREATE TABLE traces (
    tenant     text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id         bigint NOT NULL,
    -- At most one of these is set; without any, the trace is about the whole tenant.
    device     bigint,
    user_name  text,
    session    text,
    owner      text NOT NULL,
    began_at   timestamptz NOT NULL DEFAULT now(),
    ends_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- Administrators may trace. New tenants have the role in this group from the beginning.
UPDATE groups
SET roles = array_append(roles, 'ROLE_NOTIFICATION_ADMIN')
WHERE name = 'admins'
    AND NOT 'ROLE_NOTIFICATION_ADMIN' = ANY(roles);
