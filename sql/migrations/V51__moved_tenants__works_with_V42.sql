-- Tenants that move to another deployment. While the last rows of one are copied, each of its tables has a trigger that
-- rejects its writes; afterwards it is suspended and marked. Servers of earlier versions see a suspended tenant.
ALTER TABLE tenants ADD COLUMN moved_at timestamptz;

-- Rejects a write of the tenant that the trigger is for. The last argument of the trigger is what to do instead: skip
-- drops the row alone, for a table that servers write for many tenants at once.
CREATE FUNCTION reject_moving_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_ARGV[1] = 'skip' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'tenant % moves to another deployment', TG_ARGV[0]
        USING ERRCODE = 'TM001', DETAIL = TG_ARGV[0];
END
$$;
