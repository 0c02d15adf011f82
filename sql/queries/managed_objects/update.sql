-- Updates only the members of a PUT; a null type or name removes it. An object whose revision is not the given one
-- stays as it is (C-23). The watch of the availability follows the object (R-01). Changes of smart rules are recorded
-- (Y-05).
WITH change AS (
    SELECT *
    FROM unnest(
        $1::text[], $2::bigint[], $3::boolean[], $4::text[], $5::boolean[], $6::text[], $7::text[],
        $8::text[], $9::text[], $10::timestamptz[], $11::boolean[], $12::smallint[],
        $13::boolean[], $14::bigint[], $15::text[], $16::text[], $18::text[], $19::text[], $20::bigint[])
        AS change (
            tenant, id, sets_type, type, sets_name, name, owner, fragments, removed, updated_at,
            sets_interval, response_interval, sets_templates, audit_id, user_name, application,
            -- The notifications of servers, for changes of the interval and of names.
            told_interval, told_names, revision)
), updated AS (
    UPDATE managed_objects o
    SET
        type = CASE WHEN change.sets_type THEN change.type ELSE o.type END,
        name = CASE WHEN change.sets_name THEN change.name ELSE o.name END,
        owner = coalesce(change.owner, o.owner),
        fragments = (o.fragments || change.fragments::jsonb)
            - ARRAY(SELECT jsonb_array_elements_text(change.removed::jsonb)),
        updated_at = change.updated_at,
        revision = o.revision + 1
    FROM change
    WHERE o.tenant = change.tenant
        AND o.id = change.id
        AND o.revision = coalesce(change.revision, o.revision)
    RETURNING
        o.tenant, o.id, o.type, o.name, o.owner, o.created_at, o.updated_at, o.fragments, o.revision,
        change.sets_interval, change.response_interval, change.sets_templates, change.owner IS NOT NULL AS sets_owner,
        change.sets_type, change.audit_id, change.user_name, change.application, change.told_interval,
        change.told_names
), recorded AS (
    INSERT INTO audit_records (
        tenant, id, type, activity, time, text, source, user_name, application, severity, changes, created_at)
    SELECT
        updated.tenant, updated.audit_id, 'SmartRule', described.activity, updated.updated_at, described.activity,
        updated.id::text, updated.user_name, updated.application, 'warning', described.changes, updated.updated_at
    FROM updated
    -- The table still shows the object as it was before this statement.
    JOIN managed_objects was ON was.tenant = updated.tenant AND was.id = updated.id
    CROSS JOIN LATERAL (
        SELECT
            was.fragments || jsonb_strip_nulls(
                jsonb_build_object('type', was.type, 'name', was.name, 'owner', was.owner)) AS before,
            updated.fragments || jsonb_strip_nulls(
                jsonb_build_object('type', updated.type, 'name', updated.name, 'owner', updated.owner)) AS after
    ) AS rule
    CROSS JOIN LATERAL (
        SELECT
            CASE
                WHEN before -> 'enabled' IS NOT DISTINCT FROM after -> 'enabled' THEN 'Smart rule updated'
                WHEN after -> 'enabled' = 'true' THEN 'Smart rule enabled'
                WHEN after -> 'enabled' = 'false' THEN 'Smart rule disabled'
                ELSE 'Smart rule updated'
            END AS activity,
            (
                SELECT json_agg(json_build_object(
                    'attribute', member,
                    'type', CASE WHEN member IN ('type', 'name', 'owner') THEN 'String' ELSE 'Object' END,
                    'previousValue', before -> member,
                    'newValue', after -> member,
                    'changeType', CASE
                        WHEN NOT before ? member THEN 'ADDED'
                        WHEN NOT after ? member THEN 'REMOVED'
                        ELSE 'REPLACED'
                    END) ORDER BY member)
                FROM jsonb_object_keys(before || after) AS member
                WHERE before -> member IS DISTINCT FROM after -> member
            ) AS changes
    ) AS described
    -- The first condition avoids the look-up for all other objects. An object that becomes or stops being a smart rule
    -- is recorded, too.
    WHERE (updated.type = $17 OR updated.sets_type)
        AND $17 IN (was.type, updated.type)
        AND described.changes IS NOT NULL
), unwatched AS (
    DELETE FROM availability v
    USING updated
    WHERE updated.sets_interval
        AND updated.response_interval IS NULL
        AND v.tenant = updated.tenant
        AND v.device = updated.id
), watched AS (
    INSERT INTO availability AS v (tenant, device, response_interval, last_message, counted_from)
    SELECT updated.tenant, updated.id, updated.response_interval, updated.updated_at, updated.updated_at
    FROM updated
    WHERE updated.response_interval IS NOT NULL
    ON CONFLICT (tenant, device) DO UPDATE SET
        response_interval = excluded.response_interval,
        -- A device that was silent during its maintenance is silent at once afterwards (R-02).
        counted_from = CASE
            WHEN v.response_interval > 0 AND excluded.response_interval > 0 THEN excluded.counted_from
            ELSE v.counted_from
        END
    WHERE v.response_interval <> excluded.response_interval
    -- Servers cache the interval, which determines when they store the time of a last message, so they are notified.
    RETURNING (
        SELECT pg_notify('platform_users', updated.told_interval)
        FROM updated
        WHERE updated.tenant = v.tenant
            AND updated.id = v.device)
)
SELECT
    id, type, name, owner, created_at, updated_at, fragments, revision,
    -- Servers cache template sets of the CSV protocol and the owners of objects, so they are notified.
    CASE
        WHEN sets_templates
            OR sets_owner
            -- The table still shows the object as it was before this statement.
            AND EXISTS (
                SELECT 1
                FROM managed_objects was
                WHERE was.tenant = updated.tenant
                    AND was.id = updated.id
                    AND was.owner <> updated.owner)
        THEN pg_notify('platform_users', told_names)
    END
FROM updated
