INSERT INTO database_sizes (measured_at, bytes)
VALUES (now(), pg_database_size(current_database()))
ON CONFLICT (measured_at) DO NOTHING
