-- Returns the tenants whose journals are written.
SELECT tenant FROM journals WHERE is_written
