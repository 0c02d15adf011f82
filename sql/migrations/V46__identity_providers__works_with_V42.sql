-- The issuer of the tokens with which a user logs in (C-25); only such users are created and changed by tokens.
-- Servers of earlier versions refuse the tokens.
ALTER TABLE users ADD COLUMN identity_provider text;
-- The time at which the newest of these tokens was issued: an older one does not change the groups of the user.
ALTER TABLE users ADD COLUMN identified_at timestamptz;
