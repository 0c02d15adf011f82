-- 100 000 objects, a tenth of them devices in groups of a hundred, and what belongs to them. Without triggers, for
-- what is put in is sound; the search indexes are built at the end, which is how they are built fastest.
DO $fill$
BEGIN
    PERFORM set_config('session_replication_role', 'replica', true);
    DROP INDEX managed_objects_by_word, managed_objects_by_value, managed_objects_by_fragment, managed_objects_by_name;
    INSERT INTO managed_objects (tenant, id, type, name, owner, created_at, updated_at, fragments)
    SELECT 'main', 1000 + n,
        CASE WHEN n % 1000 = 0 THEN 'plat_DeviceGroup' WHEN n % 10 = 9 THEN 'acme_Pump' ELSE 'acme_Asset' || n % 40 END,
        CASE WHEN n % 1000 = 0 THEN 'group ' WHEN n % 10 = 9 THEN 'pump ' ELSE 'asset ' END || n,
        CASE WHEN n % 5000 = 17 THEN 'owner' ELSE 'operator' || n / 7 % 100 END,
        now(), now(),
        CASE
            WHEN n % 1000 = 0 THEN '{"plat_IsDeviceGroup": {}}'::jsonb
            WHEN n % 10 = 9 THEN jsonb_build_object('plat_IsDevice', '{}'::jsonb, 'plat_Hardware',
                jsonb_build_object('model', 'RX' || n / 10 % 50, 'serialNumber', 'sn-' || n, 'revision', n % 7),
                'sold', '2024-03-01T00:00:00Z')
            WHEN n % 20000 = 1 THEN '{"plat_Rare": {"a": 1}}'
            ELSE jsonb_build_object('plat_IsAsset', '{}'::jsonb, 'acme_Description', 'Part ' || n % 1000)
        END
    FROM generate_series(0, 99999) n;
    INSERT INTO links (tenant, kind, parent, child)
    SELECT 'main', CASE n % 20 WHEN 9 THEN 'childAssets' ELSE 'childDevices' END, 1000 + n - n % 1000, 1000 + n
    FROM generate_series(0, 99999) n WHERE n % 10 = 9
    UNION ALL
    SELECT 'main', 'childAdditions', 1000 + n - 1, 1000 + n FROM generate_series(1, 99999) n WHERE n % 10 = 5;
    INSERT INTO availability (tenant, device, response_interval, last_message, counted_from)
    SELECT 'main', 1000 + n, 30, at, at
    FROM generate_series(9, 99999, 10) n
    CROSS JOIN LATERAL (SELECT now() - make_interval(mins => CASE n % 1000 WHEN 9 THEN 60 ELSE 0 END) AS at) heard;
    INSERT INTO external_ids (tenant, type, value, object, created_at)
    SELECT 'main', 'acme_Serial', 'sn-' || n, 1000 + n, now() FROM generate_series(0, 99999) n;
    INSERT INTO alarms (tenant, id, source, type, time, time_offset, text, status, severity, count,
        first_time, first_offset, created_at, fragments)
    SELECT 'main', n, 1009 + n % 10000 * 10, CASE n % 20000 WHEN 1 THEN 'rare' ELSE 'type' || n % 47 END,
        now() - make_interval(secs => n), 0, 'It drips', CASE WHEN n % 10 = 0 THEN 'ACTIVE' ELSE 'CLEARED' END,
        CASE WHEN n % 100 = 0 THEN 'CRITICAL' ELSE 'MINOR' END, 1, now(), 0, now(), '{}'
    FROM generate_series(1, 100000) n;
    INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments)
    SELECT 'main', n, 1009 + n % 10000 * 10, CASE n % 20000 WHEN 1 THEN 'rare' ELSE 'type' || n % 47 END,
        now() - make_interval(secs => n), 0, 'It drips', now(),
        CASE n % 20000 WHEN 2 THEN '{"plat_Rare": {}}' ELSE '{}' END::json
    FROM generate_series(1, 100000) n;
    INSERT INTO operations (tenant, id, device, status, bulk_operation, created_at, fragments)
    SELECT 'main', n, 1009 + n % 10000 * 10,
        CASE WHEN n % 5000 = 1 THEN 'FAILED' WHEN n % 3 = 0 THEN 'PENDING'
            WHEN n % 100 = 1 THEN 'EXECUTING' ELSE 'SUCCESSFUL' END,
        CASE WHEN n <= 50000 THEN n / 10000 + 5 END, now() - make_interval(secs => 100000 - n),
        CASE n % 20000 WHEN 2 THEN '{"plat_Rare": {}}' ELSE '{"plat_Restart": {}}' END::json
    FROM generate_series(1, 100000) n;
    INSERT INTO measurement_shapes (tenant, id, type, members, fragments, series, definition)
    SELECT 'main', n, CASE n WHEN 0 THEN 'rare' ELSE 'type' || n END, '{env}', '{env}', '{env.t}',
        json_build_object('type', 'type' || n, 'fragments', '[{"name": "env", "series": [{"name": "t"}]}]'::json)
    FROM generate_series(0, 47) n;
    INSERT INTO source_shapes (tenant, source, shape, first)
    SELECT 'main', 1009 + n * 10, shape, n FROM generate_series(0, 9999) n, unnest(ARRAY[n % 47 + 1, 47, 0]) AS shape
    GROUP BY n, shape;
    INSERT INTO measurements (tenant, id, source, time, local_time, shape, readings)
    SELECT 'main', first_id(now()) + n, 1009 + n % 10000 * 10, now() - make_interval(secs => n),
        now() - make_interval(secs => n), CASE n % 20000 WHEN 1 THEN 0 ELSE n % 47 + 1 END, ARRAY[n]
    FROM generate_series(1, 100000) n;
    INSERT INTO measurement_rollup_marks (tenant, source, rolled)
    SELECT 'main', 1009 + n * 10, first_id(now()) + 99000 FROM generate_series(0, 99) n;
    INSERT INTO measurement_rollups (tenant, source, shape, hour, zone, first_time, least, greatest)
    SELECT 'main', 1009 + n % 100 * 10, 47, '2024-01-01'::timestamp + make_interval(hours => n / 100), 0,
        '2024-01-01'::timestamptz + make_interval(hours => n / 100), ARRAY[n], ARRAY[n]
    FROM generate_series(0, 99999) n;
    INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, changes, created_at)
    SELECT 'main', n, 'Alarm', 'Alarm updated', now() - make_interval(secs => n), 'x', (n % 5000)::text,
        'operator' || n % 100, 'minor', '[]', now()
    FROM generate_series(1, 100000) n;
    INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at, owner)
    SELECT 'main', 'user' || n, NULL, true, '{}', now(), 'user' || n / 100 FROM generate_series(1, 20000) n;
    INSERT INTO token_clients (tenant, id, name, user_name, scope, secret_hash, created_at)
    SELECT 'main', 'key' || n, 'x', 'user' || n, '{READ}', 'x', now() FROM generate_series(1, 20000) n;
    INSERT INTO modules (tenant, id, name, deployed, deployment, inputs, last_modified, text)
    SELECT CASE WHEN n > 40000 THEN 'main' ELSE 'owner' || n % 1000 END, n, 'm' || n, false, 0, 0, now(), 'x'
    FROM generate_series(1, 50000) n;
    INSERT INTO new_device_requests (tenant, id, status, owner, created_at)
    SELECT 'main', 'sn-' || n, 'WAITING_FOR_CONNECTION', 'admin', now() FROM generate_series(1, 20000) n;
    INSERT INTO bulk_operations (tenant, id, group_id, start_at, ramp, prototype, status, creator, base, created_at,
        total, chosen, place, vanished, due_at, fence, leased_until)
    SELECT 'main', n, 1000, now(), 1, '{}', CASE WHEN n % 500 = 0 THEN 'COMPLETED' ELSE 'DELETED' END, 'admin',
        'http://h', now(), 100, true, 100, 0, now(), 1, now()
    FROM generate_series(1, 50000) n;
    INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, external_url, required_roles,
        roles, created_at)
    SELECT CASE WHEN n > 100000 THEN 'main' ELSE 'owner' || n % 1000 END, n,
        CASE WHEN n > 100000 THEN 'mine' || n ELSE 'app' || n / 1000 END, 'EXTERNAL',
        CASE WHEN n % 10 = 1 AND n < 100000 THEN 'MARKET' ELSE 'PRIVATE' END, 'k' || n, 'x', '/', '{}', '{}', now()
    FROM generate_series(1, 120000) n;
    INSERT INTO subscriptions (tenant, application, created_at)
    SELECT 'main', n * 48, now() FROM generate_series(1, 2000) n
    UNION ALL
    SELECT 'sub' || n % 500, n, now() FROM generate_series(1, 100000) n;
    CREATE INDEX managed_objects_by_word ON managed_objects USING gin (words);
    CREATE INDEX managed_objects_by_value ON managed_objects USING gin (fragments jsonb_path_ops);
    CREATE INDEX managed_objects_by_fragment ON managed_objects USING gin (fragment_names);
    CREATE INDEX managed_objects_by_name ON managed_objects (tenant, name COLLATE "C", id);
END
$fill$
