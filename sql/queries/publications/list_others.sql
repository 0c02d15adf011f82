-- Returns for each of the tenants ($1) whether this server ($2) has joined it, whether others have, whether it has a
-- journal, and the id of this transaction if it has written something.
SELECT
    tenant,
    EXISTS (SELECT FROM publication_listeners AS own WHERE own.tenant = asked.tenant AND own.server = $2),
    EXISTS (SELECT FROM publication_listeners AS other WHERE other.tenant = asked.tenant AND other.server <> $2),
    EXISTS (SELECT FROM journals WHERE journals.tenant = asked.tenant AND journals.is_written),
    pg_current_xact_id_if_assigned()::text
FROM unnest($1::text[]) AS asked (tenant)
