-- Begins to write the journal of a tenant ($1), or goes on. Returns whether it was not written before.
INSERT INTO journals AS journal (tenant, is_written, first, newest, bytes, newest_at)
VALUES ($1, true, 1, 0, 0, now())
ON CONFLICT (tenant) DO UPDATE
SET is_written = true,
    first = CASE WHEN journal.is_written THEN journal.first ELSE journal.newest + 1 END
