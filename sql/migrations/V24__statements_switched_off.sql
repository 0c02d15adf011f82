-- Statements of a module that were switched off because they asked for too much (Q-16), each `{"statement": …, "reason": …}`. They stay
-- off until the module is deployed anew; then it is empty.
ALTER TABLE modules ADD COLUMN switched_off jsonb NOT NULL DEFAULT '[]';
