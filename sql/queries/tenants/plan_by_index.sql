-- Makes the statements of one transaction use ordered index scans. Otherwise a plan made for a small table, or without
-- statistics, would read all rows of a tenant for each part of them.
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_sort = off;
