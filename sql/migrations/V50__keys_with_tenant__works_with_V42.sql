-- Unique keys of tenants' tables contain the tenant, so that tenants can live in several databases. Servers of earlier
-- versions use the new indexes as they used the old ones.

-- Both tables are locked from the beginning, because reading transactions would wait for a lock that becomes stronger
-- while it waits for them. The order is the one in which tenants are deleted.
LOCK TABLE user_tokens, binaries IN ACCESS EXCLUSIVE MODE;

-- The hash and the application stay first, because tokens are looked up by hash, and applications delete their binary.
CREATE UNIQUE INDEX user_tokens_by_hash_and_tenant ON user_tokens (hash, tenant);
DROP INDEX user_tokens_by_hash;

CREATE UNIQUE INDEX binaries_of_application_and_tenant ON binaries (application, tenant) WHERE application IS NOT NULL;
DROP INDEX binaries_of_application;
