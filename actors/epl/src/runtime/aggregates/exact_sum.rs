//! Sums of doubles that do not drift: a value that was added can be subtracted again without any residue.
//!
//! A sum is held as several doubles that do not overlap (Shewchuk's expansions), so it is exact; only the result is
//! rounded.

/// The magnitude from which on a sum of a few values could exceed the range of doubles: 2^970.
const HUGE: f64 = 9.979_201_547_673_6e291;

/// An exact sum of doubles.
#[derive(Debug, Clone, Default)]
pub(super) struct ExactSum {
    /// The doubles in ascending order of magnitude.
    parts: Vec<f64>,
    /// The sum of the values that are too large to be added exactly; it is reset when the last of them is subtracted.
    huge: f64,
    huge_count: u64,
}

impl ExactSum {
    pub(super) fn add(&mut self, value: f64) {
        if value.abs() < HUGE {
            self.add_part(value);
        } else {
            self.huge += value;
            self.huge_count += 1;
        }
    }

    /// Subtracts a value that was [added](Self::add).
    pub(super) fn subtract(&mut self, value: f64) {
        if value.abs() < HUGE {
            self.add_part(-value);
        } else {
            self.huge_count = self.huge_count.saturating_sub(1);
            self.huge = if self.huge_count == 0 { 0.0 } else { self.huge - value };
        }
    }

    /// Adds the product of two doubles, exactly.
    pub(super) fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        self.add(product);
        self.add(a.mul_add(b, -product));
    }

    /// Subtracts a product that was added.
    pub(super) fn subtract_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        self.subtract(product);
        self.subtract(a.mul_add(b, -product));
    }

    /// Returns the doubles whose sum this is.
    pub(super) fn parts(&self) -> &[f64] {
        &self.parts
    }

    /// Returns the sum, rounded once.
    pub(super) fn rounded(&self) -> f64 {
        let Some((&last, rest)) = self.parts.split_last() else { return self.huge };
        let mut high = last;
        let mut low = 0.0;
        let mut left = rest;
        while let Some((&part, fewer)) = left.split_last() {
            let sum = high + part;
            low = part - (sum - high);
            high = sum;
            left = fewer;
            if low != 0.0 {
                break;
            }
        }
        // The value lies halfway between two doubles: the remainder decides, instead of rounding to even.
        if let Some(&next) = left.last()
            && ((low < 0.0 && next < 0.0) || (low > 0.0 && next > 0.0))
        {
            let twice = low * 2.0;
            let sum = high + twice;
            if sum - high == twice {
                high = sum;
            }
        }
        high + self.huge
    }

    fn add_part(&mut self, value: f64) {
        let mut carried = value;
        let mut kept = 0;
        for at in 0..self.parts.len() {
            let mut part = self.parts[at];
            if carried.abs() < part.abs() {
                std::mem::swap(&mut carried, &mut part);
            }
            let sum = carried + part;
            let low = part - (sum - carried);
            if low != 0.0 {
                self.parts[kept] = low;
                kept += 1;
            }
            carried = sum;
        }
        self.parts.truncate(kept);
        if carried != 0.0 {
            self.parts.push(carried);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_value_leaves_no_trace() {
        let mut sum = ExactSum::default();
        for at in 0..100_000_u32 {
            sum.add(0.1 * f64::from(at));
            sum.add(1e17);
            sum.subtract(0.1 * f64::from(at));
            sum.subtract(1e17);
        }
        assert_eq!(sum.rounded().to_bits(), 0.0_f64.to_bits());
        assert!(sum.parts().is_empty());
    }

    #[test]
    fn a_sum_is_rounded_once() {
        let mut sum = ExactSum::default();
        for _ in 0..10 {
            sum.add(0.1);
        }
        assert_eq!(sum.rounded(), 1.0);
        sum.add(1e100);
        sum.add(-1e100);
        assert_eq!(sum.rounded(), 1.0);
    }

    #[test]
    fn values_beyond_the_range_do_not_spoil_the_sum() {
        let mut sum = ExactSum::default();
        sum.add(3.0);
        sum.add(f64::MAX);
        sum.add(f64::MAX);
        assert_eq!(sum.rounded(), f64::INFINITY);
        sum.subtract(f64::MAX);
        sum.subtract(f64::MAX);
        assert_eq!(sum.rounded(), 3.0);
    }
}
