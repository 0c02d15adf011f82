//! The requests of a tenant that wait for a turn. Each user has a line, and the lines are served one after the other.
//! So a device that reads much does not delay the other users of its tenant.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The waiting requests of a tenant, by user.
#[derive(Debug)]
pub(super) struct Lines<W> {
    of_users: HashMap<Arc<str>, VecDeque<W>>,
    /// The users with waiting requests; the first one is served next.
    order: VecDeque<Arc<str>>,
}

impl<W> Default for Lines<W> {
    fn default() -> Self {
        Self { of_users: HashMap::new(), order: VecDeque::new() }
    }
}

impl<W> Lines<W> {
    /// Returns whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Adds a request at the end of the line of its user.
    pub(super) fn push(&mut self, user: &Arc<str>, waiting: W) {
        match self.of_users.get_mut(user) {
            Some(line) => line.push_back(waiting),
            None => {
                self.of_users.insert(user.clone(), VecDeque::from([waiting]));
                self.order.push_back(user.clone());
            }
        }
    }

    /// Takes the first request of the user whose line is served next.
    pub(super) fn pop(&mut self) -> Option<W> {
        let user = self.order.pop_front()?;
        let line = self.of_users.get_mut(&user)?;
        let first = line.pop_front();
        if line.is_empty() {
            self.of_users.remove(&user);
        } else {
            self.order.push_back(user);
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_served_in_turn_and_the_requests_of_each_in_order() {
        let mut lines = Lines::default();
        let (busy, other, third) = ("busy".into(), "other".into(), "third".into());
        (0..4).for_each(|n| lines.push(&busy, n));
        lines.push(&other, 10);
        lines.push(&third, 20);
        lines.push(&other, 11);

        let served: Vec<i32> = std::iter::from_fn(|| lines.pop()).collect();

        assert_eq!(served, [0, 10, 20, 1, 11, 2, 3]);
        assert!(lines.is_empty() && lines.of_users.is_empty());
    }
}
