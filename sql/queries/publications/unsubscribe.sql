-- Notes that this server ($1) does not use the publications of a tenant ($2) any more.
UPDATE publication_listeners SET hears = false WHERE server = $1 AND tenant = $2
