-- Returns the name of the database for a statement, and whether every role may connect to it although its owner, who
-- may change that, is the current user.
SELECT
    quote_ident(datname),
    has_database_privilege('public', oid, 'CONNECT') AND pg_get_userbyid(datdba) = current_user
FROM pg_database
WHERE datname = current_database()
