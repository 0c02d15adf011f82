-- Leaves room for the positions that were used after a backup, when it is restored: clients may have acknowledged them.
-- Consumers report these positions as missed. A schema of an earlier version has no journals.
DO $$
BEGIN
    IF to_regclass('journals') IS NULL THEN
        RETURN;
    END IF;
    -- A consumer with a backlog notices the gap behind it when it reads.
    UPDATE consumers
    SET missed_from = coalesce(consumers.missed_from, consumers.position + 1),
        missed_to = consumers.position + 1000000000,
        position = consumers.position + 1000000000,
        position_at = journals.newest_at
    FROM journals
    WHERE journals.tenant = consumers.tenant
        AND journals.newest = consumers.position;
    UPDATE journals SET newest = newest + 1000000000;
END
$$
