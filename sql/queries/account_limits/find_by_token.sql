-- The account that a token of the limits query is for, and what is configured for it.
SELECT a.id, a.absolute, a.rate
FROM limit_tokens t
JOIN limit_accounts a ON a.id = t.account
WHERE t.hash = $1
    AND t.expires_at > clock_timestamp()
