DELETE FROM limit_tokens
WHERE account = $1
