-- No statement finds leases by their end alone: they are taken on from the modules that are deployed, each by its tenant. Without the
-- index a renewal, every few seconds, changes a row in place.
DROP INDEX module_leases_by_end;
