-- Devices reach what is their own, and no more (U-10a, N-08a, O-06a).

-- The group as every tenant had it: its two roles opened the names and the operations of all other devices (U-10a). A group that
-- was edited stays as it is.
UPDATE groups
SET roles = array_remove(array_remove(roles, 'ROLE_IDENTITY_ADMIN'), 'ROLE_DEVICE_CONTROL_READ')
WHERE name = 'devices'
    AND roles <@ '{ROLE_DEVICE_CONTROL_READ,ROLE_IDENTITY_ADMIN,ROLE_IDENTITY_READ,ROLE_INVENTORY_CREATE,ROLE_INVENTORY_READ,ROLE_NOTIFICATION_READ,ROLE_USER_MANAGEMENT_OWN_ADMIN,ROLE_USER_MANAGEMENT_OWN_READ}'
    AND roles @> '{ROLE_DEVICE_CONTROL_READ,ROLE_IDENTITY_ADMIN,ROLE_IDENTITY_READ,ROLE_INVENTORY_CREATE,ROLE_INVENTORY_READ,ROLE_NOTIFICATION_READ,ROLE_USER_MANAGEMENT_OWN_ADMIN,ROLE_USER_MANAGEMENT_OWN_READ}';

-- Whether a user is a device and nothing more: a member of the one group `devices`, with the roles of every new user (N-08a).
-- VOLATILE, so that it sees what others committed while its statement waited for the user's row.
CREATE OR REPLACE FUNCTION is_mere_device(u users, devices text, of_new_user text[]) RETURNS boolean
    LANGUAGE sql VOLATILE AS $$
    SELECT u.roles <@ of_new_user
        AND u.device_permissions::jsonb = '{}'
        AND ARRAY(
            SELECT g.name
            FROM group_members m
            JOIN groups g ON g.tenant = m.tenant AND g.id = m.group_id
            WHERE m.tenant = u.tenant
                AND m.user_name = u.name) = ARRAY[devices]
$$;

-- An object and everything below it by childDevices links, down to the next agents, which have operations of their own (O-06a).
-- `marker` is the fragment of an agent. UNION drops what was seen, so that a ring ends.
CREATE OR REPLACE FUNCTION devices_of_agent(of_tenant text, of_agent bigint, marker text) RETURNS SETOF bigint
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 100 AS $$
    WITH RECURSIVE below (id) AS (
        VALUES (of_agent)
        UNION
        SELECT child.id
        FROM below
        CROSS JOIN LATERAL (
            SELECT o.id
            FROM links l
            JOIN managed_objects o ON o.tenant = l.tenant AND o.id = l.child
            WHERE l.tenant = of_tenant
                AND l.parent = below.id
                AND l.kind = 'childDevices'
                AND NOT marker = ANY(o.fragment_names)
            OFFSET 0
        ) AS child
    )
    SELECT below.id FROM below
$$;
