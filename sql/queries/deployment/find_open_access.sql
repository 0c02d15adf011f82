-- Returns the name of the database for a statement, whether every role may connect to it although its owner, who may
-- change that, is the current user, and whether there are other roles that log in. A superuser may always connect.
SELECT
    quote_ident(datname),
    has_database_privilege('public', oid, 'CONNECT') AND pg_get_userbyid(datdba) = current_user,
    EXISTS (SELECT FROM pg_roles WHERE rolcanlogin AND NOT rolsuper AND rolname <> current_user)
FROM pg_database
WHERE datname = current_database()
