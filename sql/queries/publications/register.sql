-- Lets this server ($1, $2) take part, and those no more whose lease ended $3 seconds ago. Returns whether it did not
-- take part before, or null if it holds no slot.
SELECT register_publication_server($1, $2, $3)
