-- The number of changes of an object, for conditional requests (C-23). Servers of earlier versions change objects without
-- counting, so a condition may hold although one of them has changed the object.
ALTER TABLE managed_objects ADD COLUMN revision bigint NOT NULL DEFAULT 0;
