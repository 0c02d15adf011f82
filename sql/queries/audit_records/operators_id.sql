-- Returns an id of this moment with slot 255 and a random sequence.
SELECT first_id(clock_timestamp()) + (255 << 12) + floor(random() * 4096)::bigint
