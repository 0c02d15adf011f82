-- Notes that unsigned messages are ignored from now on.
INSERT INTO deployment (name, value) VALUES ('unsigned messages are ignored', 'true') ON CONFLICT DO NOTHING
