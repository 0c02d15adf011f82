-- Notes that each transaction of this server ($1) asserts from now on.
UPDATE publication_servers SET asserts = true WHERE server = $1
