-- Every server hears what every other one writes, so modules no longer move to where events come. Servers of the release
-- before still write this column; it can be removed a release later.
ALTER TABLE module_leases ALTER COLUMN fed_at SET DEFAULT now();
