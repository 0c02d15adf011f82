-- Returns the properties of PostgreSQL that operators see. It needs no special rights.
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::int / 10000 AS major,
       current_setting('fsync') = 'on' AS fsync,
       current_setting('full_page_writes') = 'on' AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('max_connections')::int AS max_connections,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type IS NOT DISTINCT FROM 'client backend') AS connections,
       pg_is_in_recovery() AS is_standby,
       -- A connection over a Unix socket has no addresses; one on the same machine has two that are equal.
       coalesce(inet_client_addr() <> inet_server_addr(), false) AS over_network,
       coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted,
       -- By default every role of a PostgreSQL may connect to every database, and then listen to it.
       has_database_privilege('public', current_database(), 'CONNECT') AS everybody_connects,
       quote_ident(current_database()) AS name,
       pg_notification_queue_usage() AS notification_queue,
       clock_timestamp() AS now,
       pg_database_size(current_database()) AS bytes
