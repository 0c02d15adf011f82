-- Sets limits of an account. Limits that are not given stay unchanged.
INSERT INTO limit_accounts (id, absolute, rate)
VALUES ($1, $2, coalesce($3, '[]'::json))
ON CONFLICT (id) DO UPDATE
SET absolute = limit_accounts.absolute || excluded.absolute,
    rate = coalesce($3, limit_accounts.rate)
RETURNING absolute, rate
