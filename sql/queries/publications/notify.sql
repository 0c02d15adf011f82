-- Sends the payloads ($2), each on its channel ($1), in this order, at the commit.
SELECT count(pg_notify(channel, payload)) FROM unnest($1::text[], $2::text[]) AS pieces (channel, payload)
