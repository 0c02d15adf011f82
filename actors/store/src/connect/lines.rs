//! Requests that wait for a turn, in a line for each tenant or user. The lines are served one after the other, so that
//! whoever waits for many turns delays the others by one turn at most.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The waiting requests by the key of their line.
#[derive(Debug)]
pub struct Lines<K, W> {
    requests: HashMap<K, VecDeque<W>>,
    /// The keys with waiting requests; the first one is served next.
    order: VecDeque<K>,
}

impl<K, W> Default for Lines<K, W> {
    fn default() -> Self {
        Self { requests: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Clone + Eq + Hash, W> Lines<K, W> {
    /// Returns whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Adds a request at the end of the line of a key.
    pub fn push(&mut self, key: &K, waiting: W) {
        match self.requests.get_mut(key) {
            Some(line) => line.push_back(waiting),
            None => {
                self.requests.insert(key.clone(), VecDeque::from([waiting]));
                self.order.push_back(key.clone());
            }
        }
    }

    /// Takes the first request of the line that is served next.
    pub fn pop(&mut self) -> Option<W> {
        let key = self.order.pop_front()?;
        let line = self.requests.get_mut(&key)?;
        let first = line.pop_front();
        if line.is_empty() {
            self.requests.remove(&key);
        } else {
            self.order.push_back(key);
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_served_in_turn_and_the_requests_of_each_in_order() {
        let mut lines = Lines::default();
        (0..4).for_each(|n| lines.push(&"busy", n));
        lines.push(&"other", 10);
        lines.push(&"third", 20);
        lines.push(&"other", 11);

        let served: Vec<i32> = std::iter::from_fn(|| lines.pop()).collect();

        assert_eq!(served, [0, 10, 20, 1, 11, 2, 3]);
        assert!(lines.is_empty() && lines.requests.is_empty());
    }
}
