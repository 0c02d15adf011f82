-- Appends notifications to the journals of tenants that are written: tenants ($1), resources ($2), sources ($3) and
-- contents ($4), in the order of the notifications. It is the last statement of its transaction, which holds the
-- journals until it ends.
WITH added AS (
    SELECT
        tenant,
        resource,
        source,
        content,
        row_number() OVER of_tenant AS nth,
        sum(octet_length(content)) OVER of_tenant AS bytes
    FROM unnest($1::text[], $2::smallint[], $3::bigint[], $4::text[])
        WITH ORDINALITY AS sent (tenant, resource, source, content, nth)
    WINDOW of_tenant AS (PARTITION BY tenant ORDER BY nth)
),
total AS (
    SELECT tenant, max(nth) AS notifications, max(bytes) AS bytes
    FROM added
    GROUP BY tenant
),
-- Two transactions take the journals of several tenants in the same order.
locked AS (
    SELECT journals.tenant
    FROM journals
    WHERE journals.tenant = ANY($1)
        AND journals.is_written
    ORDER BY journals.tenant
    FOR UPDATE
),
numbered AS (
    UPDATE journals
    SET newest = journals.newest + total.notifications,
        bytes = journals.bytes + total.bytes,
        newest_at = greatest(journals.newest_at, clock_timestamp())
    FROM locked, total
    WHERE total.tenant = locked.tenant
        AND journals.tenant = locked.tenant
    RETURNING
        journals.tenant,
        journals.newest - total.notifications AS before,
        journals.bytes - total.bytes AS bytes_before,
        journals.newest_at
)
INSERT INTO journal_notifications (tenant, position, arrived_at, bytes, resource, source, content)
SELECT
    added.tenant,
    numbered.before + added.nth,
    numbered.newest_at,
    numbered.bytes_before + added.bytes,
    added.resource,
    added.source,
    added.content
FROM numbered
JOIN added ON added.tenant = numbered.tenant
