SELECT EXISTS (SELECT 1 FROM limit_accounts WHERE id = $1)
