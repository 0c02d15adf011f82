-- This transaction as `xmin` of what it writes shows it.
SELECT pg_current_xact_id()::xid::text::bigint
