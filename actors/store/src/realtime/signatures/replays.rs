//! Recognizes payloads that were received before, by their origin and number.

use std::collections::{HashMap, VecDeque};

/// The numbers below the greatest one of an origin that are remembered, in words of 64. PostgreSQL sends in the order
/// of the commits, and no transaction is open for as long as a process takes to send a million payloads.
const WORDS: u64 = 16_384;
/// The origins that are remembered: server processes and commands.
const ORIGINS: usize = 1024;

/// The numbers that were received of each origin.
#[derive(Debug, Default)]
pub(super) struct Replays {
    origins: HashMap<Box<str>, Window>,
    received: u64,
}

/// The numbers of one origin that were received, as bits.
#[derive(Debug, Default)]
struct Window {
    /// The index of the first word.
    base: u64,
    words: VecDeque<u64>,
    /// When the origin was last received, in payloads.
    received: u64,
}

impl Replays {
    /// Notes a number of an origin. Returns whether it was not received before; one that is too old counts as received.
    pub(super) fn is_first(&mut self, origin: &str, number: u64) -> bool {
        self.received += 1;
        if !self.origins.contains_key(origin) {
            if self.origins.len() >= ORIGINS {
                let oldest = self.origins.iter().min_by_key(|(_, window)| window.received);
                let oldest = oldest.map(|(origin, _)| origin.clone());
                oldest.and_then(|oldest| self.origins.remove(&oldest));
            }
            self.origins.insert(origin.into(), Window::default());
        }
        let window = self.origins.get_mut(origin).expect("it was inserted above");
        window.received = self.received;
        window.is_first(number)
    }
}

impl Window {
    fn is_first(&mut self, number: u64) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        let end = self.base + self.words.len() as u64;
        if self.words.is_empty() || word >= end + WORDS {
            // Everything that is remembered would be too old.
            self.words.clear();
            self.base = word;
        } else if word + WORDS < end {
            return false;
        }
        while word < self.base {
            self.words.push_front(0);
            self.base -= 1;
        }
        while word >= self.base + self.words.len() as u64 {
            self.words.push_back(0);
        }
        while self.words.len() as u64 > WORDS {
            self.words.pop_front();
            self.base += 1;
        }
        let place = usize::try_from(word - self.base).expect("a window has few words");
        let is_first = self.words[place] & bit == 0;
        self.words[place] |= bit;
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_an_origin_is_accepted_once_in_any_order() {
        let mut replays = Replays::default();
        let numbers = [500, 3, 64, 63, 65, 100_000, 1, 99_999, 0];
        for number in numbers {
            assert!(replays.is_first("a", number), "{number}");
        }
        for number in numbers {
            assert!(!replays.is_first("a", number), "{number}");
            assert!(replays.is_first("b", number), "another process counts by itself: {number}");
        }
    }

    #[test]
    fn number_that_is_too_old_counts_as_received_and_the_memory_is_bounded() {
        let (mut replays, newest) = (Replays::default(), WORDS * 64 * 10);
        assert!(replays.is_first("a", 5));
        assert!(replays.is_first("a", newest));
        assert!(!replays.is_first("a", 5));
        assert!(!replays.is_first("a", 6), "it is older than what is remembered");
        let oldest = (newest / 64 - WORDS + 1) * 64;
        for number in [oldest, oldest + 1, newest - 1, newest + WORDS * 64 - 64] {
            assert!(replays.is_first("a", number), "{number}");
            assert!(!replays.is_first("a", number), "{number}");
        }
        assert!(replays.origins["a"].words.len() as u64 <= WORDS);
        for n in 0..2 * ORIGINS {
            assert!(replays.is_first(&format!("command {n}"), 1));
        }
        assert!(replays.origins.len() <= ORIGINS);
    }
}
