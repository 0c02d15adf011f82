-- Stores when the watch began, because no server listened before.
INSERT INTO deployment (name, value)
VALUES ('availability watched since', extract(epoch FROM now())::text)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
