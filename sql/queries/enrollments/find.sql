-- Returns the registration of a device that has a one-time password, unless it has ended.
SELECT r.tenant, r.enrollment_hash
FROM new_device_requests r
JOIN tenants t ON t.id = r.tenant
WHERE r.id = $1
    AND ($2::text IS NULL OR r.tenant = $2)
    -- Requests of a suspended tenant are not served.
    AND t.status = 'ACTIVE'
    AND r.enrollment_hash IS NOT NULL
    AND (r.enrolled_until IS NULL OR r.enrolled_until > now())
