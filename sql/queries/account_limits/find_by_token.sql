-- Returns the account of a token of the limits query, with its configured limits.
SELECT a.id, a.absolute, a.rate
FROM limit_tokens t
JOIN limit_accounts a ON a.id = t.account
WHERE t.hash = $1
    AND t.expires_at > clock_timestamp()
