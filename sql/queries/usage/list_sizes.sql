SELECT name, rows, bytes, sampled
FROM table_sizes
ORDER BY bytes DESC, name
