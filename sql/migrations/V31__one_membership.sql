-- One membership: the lease of a server's slot is also the lease by which it takes part in publications (scale-out).

ALTER TABLE servers
    -- The `application_name` of the holder's connections ends with it.
    ADD COLUMN token text NOT NULL DEFAULT '',
    -- Whether others publish what the holder hears through the database. Another server that finds the lease long ended
    -- takes this away, and the holder notices it when it continues.
    ADD COLUMN takes_part boolean NOT NULL DEFAULT false,
    -- Whether each transaction of the holder checks that no other server has to hear of it; one that is alone need not.
    ADD COLUMN asserts boolean NOT NULL DEFAULT true,
    DROP CONSTRAINT servers_state_check,
    -- DRAINING is what the operator wants, STOPPING what the server does.
    ADD CONSTRAINT servers_state_check CHECK (state IN ('UP', 'DRAINING', 'STOPPING', 'STOPPED'));

ALTER TABLE publication_listeners DROP CONSTRAINT publication_listeners_server_fkey;
DELETE FROM publication_listeners;
DROP TABLE publication_servers;

-- The servers that take part.
CREATE VIEW publication_servers AS
SELECT incarnation AS server, token, leased_until, asserts FROM servers WHERE takes_part;

-- Lets a server take part, unless it does. Returns whether it did not before, or null if it holds no slot. Servers whose
-- lease ended this many seconds ago take part no more. Servers do this, and cease to assert, one after the other; each
-- is one statement, so that nothing else that the connection does gets into its transaction.
CREATE FUNCTION register_publication_server(of_server bigint, with_token text, dead_after float8) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    is_new boolean;
BEGIN
    LOCK TABLE servers IN SHARE ROW EXCLUSIVE MODE;
    UPDATE servers
    SET takes_part = false
    WHERE takes_part AND incarnation <> of_server AND leased_until < now() - make_interval(secs => dead_after);
    DELETE FROM publication_listeners WHERE server NOT IN (SELECT server FROM publication_servers);
    SELECT NOT takes_part INTO is_new FROM servers WHERE incarnation = of_server AND leased_until > '-infinity';
    IF is_new THEN
        UPDATE servers
        SET
            takes_part = true,
            token = with_token,
            -- A new server asserts from the beginning if there are others.
            asserts = EXISTS (SELECT FROM publication_servers)
        WHERE incarnation = of_server AND leased_until > '-infinity';
    END IF;
    RETURN is_new;
END
$$;

-- Notes that a server is alone and asserts no more, unless there is another one.
CREATE FUNCTION assert_no_more(of_server bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    LOCK TABLE servers IN SHARE ROW EXCLUSIVE MODE;
    UPDATE servers
    SET asserts = false
    WHERE incarnation = of_server AND NOT EXISTS (SELECT FROM publication_servers WHERE server <> of_server);
END
$$;
