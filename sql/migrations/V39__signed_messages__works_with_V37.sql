-- Signatures of what servers send each other over notifications.

ALTER TABLE servers
    -- The incarnation of a holder that signs and verifies. Servers of earlier versions leave the value of the holder
    -- before them, so it counts only while it is that of the holder.
    ADD COLUMN signer bigint;

CREATE OR REPLACE VIEW publication_servers AS
SELECT incarnation AS server, token, leased_until, asserts, signer IS NOT DISTINCT FROM incarnation AS signs
FROM servers
WHERE takes_part;
