-- Returns the users of the devices that logged in with certificates of an authority.
SELECT DISTINCT user_name
FROM device_certificates
WHERE tenant = $1
    AND authority = $2
