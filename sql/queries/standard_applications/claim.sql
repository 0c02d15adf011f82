-- When several servers start at once, the others wait for the first and then find that the applications were created.
INSERT INTO deployment (name, value)
VALUES ('standard applications', 'made')
ON CONFLICT DO NOTHING
