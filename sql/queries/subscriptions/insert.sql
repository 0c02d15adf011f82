INSERT INTO subscriptions (tenant, application, created_at)
VALUES ($1, $2, now())
