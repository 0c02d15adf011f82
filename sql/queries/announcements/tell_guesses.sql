-- Notifies the other servers of guesses; this one hears of them, too, and knows its own. A lone server tells nobody.
SELECT pg_notify($1, payload)
FROM unnest($2::text[]) AS payload
WHERE (SELECT count(*) FROM servers WHERE leased_until > clock_timestamp()) > 1
