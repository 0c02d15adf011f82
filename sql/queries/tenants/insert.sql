INSERT INTO tenants (id, domain, company, status, created_at)
VALUES ($1, $2, $3, $4, now())
