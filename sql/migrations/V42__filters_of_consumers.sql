-- The condition on the notifications of a consumer; null for all notifications of its channels. Servers of earlier
-- versions would deliver what it does not match, so the schema does not permit them to start.
ALTER TABLE consumers ADD COLUMN filter text;
