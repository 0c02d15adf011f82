-- Deletes the second factors, whose secrets nobody can open without the secret key.
DELETE FROM second_factors
