-- Collections of users are sorted by name, people and devices apart; groups are numbered per tenant.

-- Compared byte by byte, so that pages end at the same place whatever the locale of the database. A tenant has tens of
-- thousands of device users; neither kind is read past to find the other.
CREATE INDEX users_people ON users (tenant, name COLLATE "C") WHERE NOT starts_with(name, 'device_');
CREATE INDEX users_devices ON users (tenant, name COLLATE "C") WHERE starts_with(name, 'device_');
CREATE INDEX group_members_by_name ON group_members (tenant, group_id, user_name COLLATE "C");

-- The number the newest group got: numbers rise and none is given twice (C-13).
ALTER TABLE tenants ADD COLUMN last_group bigint NOT NULL DEFAULT 0;
