-- Returns for each of the tenants ($1) whether this server ($2) has joined it, whether others have, and whether it has a
-- journal.
SELECT
    tenant,
    EXISTS (SELECT FROM publication_listeners AS own WHERE own.tenant = asked.tenant AND own.server = $2),
    EXISTS (SELECT FROM publication_listeners AS other WHERE other.tenant = asked.tenant AND other.server <> $2),
    EXISTS (SELECT FROM journals WHERE journals.tenant = asked.tenant AND journals.is_written)
FROM unnest($1::text[]) AS asked (tenant)
