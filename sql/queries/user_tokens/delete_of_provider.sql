-- Deletes the tokens that were issued for log-ins at an identity provider ($2): those of a person there ($3), of a
-- session there ($4), or of a person in a session.
DELETE FROM user_tokens
WHERE tenant = $1
    AND issuer = $2
    AND ($3::text IS NULL OR subject = $3)
    AND ($4::text IS NULL OR provider_session = $4)
RETURNING user_name, id
