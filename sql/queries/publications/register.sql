-- Registers this server ($1, $2) and removes the servers whose lease ended $3 seconds ago. Returns whether it was not
-- registered before, or null if it holds no slot.
SELECT register_publication_server($1, $2, $3)
