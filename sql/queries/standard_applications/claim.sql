-- Of servers that start at once the others wait for the first, and then find that they are made.
INSERT INTO deployment (name, value)
VALUES ('standard applications', 'made')
ON CONFLICT DO NOTHING
