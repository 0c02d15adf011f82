//! Random numbers that are the same for the same seed (SplitMix64), so that a demo can be repeated.

/// A generator of random numbers.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    /// Returns the generator for one part of a demo, such as a device.
    pub(super) fn of(seed: u64, part: u64) -> Self {
        let mut chance = Self(seed);
        Self(chance.number() ^ Self(part).number())
    }

    /// Returns a random 64-bit number.
    pub(super) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to, but not including, 1.
    pub(super) fn fraction(&mut self) -> f64 {
        // The upper 53 bits fill the fraction of a float.
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number between two bounds.
    pub(super) fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.fraction()
    }

    /// Returns true with this probability.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// Returns a random time in seconds until the next of events that happen once in `mean` seconds on average.
    pub(super) fn wait(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.fraction()).ln()
    }

    /// Returns a random element.
    ///
    /// # Panics
    /// The slice is empty.
    pub(super) fn pick<'t, T>(&mut self, things: &'t [T]) -> &'t T {
        &things[(self.number() % things.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_the_same_numbers_and_each_part_its_own() {
        let numbers = |seed, part| {
            let mut chance = Chance::of(seed, part);
            [chance.number(), chance.number()]
        };
        assert_eq!(numbers(1, 7), numbers(1, 7));
        assert_ne!(numbers(1, 7), numbers(1, 8));
        assert_ne!(numbers(1, 7), numbers(2, 7));
    }

    #[test]
    fn waits_have_their_mean() {
        let mut chance = Chance::of(1, 1);
        let sum: f64 = (0..10_000).map(|_| chance.wait(60.0)).sum();
        assert!((sum / 10_000.0 - 60.0).abs() < 2.0, "{sum}");
    }
}
