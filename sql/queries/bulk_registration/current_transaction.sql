-- Returns the number of this transaction, in the form of the column `xmin` of rows it writes.
SELECT pg_current_xact_id()::xid::text::bigint
