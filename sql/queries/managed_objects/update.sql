-- Updates only the members of a PUT; a null type or name removes it. The watch of the availability follows the object
-- (R-01).
WITH change AS (
    SELECT *
    FROM unnest(
        $1::text[], $2::bigint[], $3::boolean[], $4::text[], $5::boolean[], $6::text[], $7::text[],
        $8::text[], $9::text[], $10::timestamptz[], $11::boolean[], $12::smallint[],
        $13::boolean[])
        AS change (
            tenant, id, sets_type, type, sets_name, name, owner, fragments, removed, updated_at,
            sets_interval, response_interval, sets_templates)
), updated AS (
    UPDATE managed_objects o
    SET
        type = CASE WHEN change.sets_type THEN change.type ELSE o.type END,
        name = CASE WHEN change.sets_name THEN change.name ELSE o.name END,
        owner = coalesce(change.owner, o.owner),
        fragments = (o.fragments || change.fragments::jsonb)
            - ARRAY(SELECT jsonb_array_elements_text(change.removed::jsonb)),
        updated_at = change.updated_at
    FROM change
    WHERE o.tenant = change.tenant
        AND o.id = change.id
    RETURNING
        o.tenant, o.id, o.type, o.name, o.owner, o.created_at, o.updated_at, o.fragments,
        change.sets_interval, change.response_interval, change.sets_templates
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
    -- Servers store a last message only at times, by the interval they have cached, so they are notified.
    RETURNING pg_notify('platform_users', v.tenant || '/+availability/' || v.device)
)
SELECT
    id, type, name, owner, created_at, updated_at, fragments,
    -- Servers cache template sets of the CSV protocol, so they are notified.
    CASE WHEN sets_templates THEN pg_notify('platform_users', tenant || '/+names') END
FROM updated
