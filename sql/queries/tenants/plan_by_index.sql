-- For the statements of one transaction: rows are found by walking an index, in its order. Else a plan made for a small
-- table, or without statistics, would look at everything a tenant has for each part of it.
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_sort = off;
