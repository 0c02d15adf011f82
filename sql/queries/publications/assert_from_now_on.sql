-- Notes that each transaction of this server ($1) asserts from now on.
UPDATE servers SET asserts = true WHERE incarnation = $1
