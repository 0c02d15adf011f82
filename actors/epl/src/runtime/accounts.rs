//! Counts the amounts that each statement retains, so that the statement that retains too much is the one that is
//! reported.

use super::Retained;

/// The amounts that a module retains, charged to the statement that caused them: the state of a `select`, the
/// contents of the named window that a statement created, the partitions of its context, the value of its variable.
#[derive(Debug)]
pub(super) struct Accounts {
    own: Vec<Retained>,
    total: Retained,
}

impl Accounts {
    /// Returns accounts for this number of statements, all of them empty.
    pub(super) fn new(statements: usize) -> Self {
        Self { own: vec![Retained::default(); statements], total: Retained::default() }
    }

    /// Returns what all statements retain together.
    pub(super) fn total(&self) -> Retained {
        self.total
    }

    /// Returns what one statement retains.
    pub(super) fn of(&self, statement: usize) -> Retained {
        self.own[statement]
    }

    /// Calls `act`, which changes what a statement retains, and updates the total.
    pub(super) fn charge<T>(&mut self, statement: usize, act: impl FnOnce(&mut Retained) -> T) -> T {
        let mut own = self.own[statement];
        let result = act(&mut own);
        let before = std::mem::replace(&mut self.own[statement], own);
        self.total.replace(before, own);
        result
    }

    /// Returns the statement that retains most, in the measure that `most` exceeds; the first one if several are
    /// equal.
    pub(super) fn greatest(&self, most: Retained) -> usize {
        let is_of_events = self.total.events > most.events;
        let measure = |own: &Retained| if is_of_events { own.events } else { own.bytes };
        let greatest = self.own.iter().enumerate().rev().max_by_key(|(_, own)| measure(own));
        greatest.map_or(0, |(statement, _)| statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retained(events: usize, bytes: usize) -> Retained {
        Retained { events, bytes }
    }

    #[test]
    fn statement_that_retains_most_of_the_exceeded_amount_is_found() {
        let mut accounts = Accounts::new(3);
        accounts.charge(0, |own| *own = retained(1, 10));
        accounts.charge(1, |own| *own = retained(5, 20));
        accounts.charge(2, |own| *own = retained(2, 90));

        assert_eq!(accounts.total(), retained(8, 120));
        assert_eq!(accounts.greatest(retained(7, 1000)), 1);
        assert_eq!(accounts.greatest(retained(100, 100)), 2);
    }

    #[test]
    fn released_amounts_are_not_retained_any_more() {
        let mut accounts = Accounts::new(2);
        accounts.charge(0, |own| own.add(100));
        accounts.charge(1, |own| own.add(50));
        accounts.charge(0, |own| own.remove(100));

        assert_eq!(accounts.total(), retained(1, 50));
        assert_eq!(accounts.greatest(retained(0, 0)), 1);
    }
}
