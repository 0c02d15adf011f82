//! The exact order of JSON numbers, as PostgreSQL compares them.

use std::cmp::Ordering;
use std::iter::repeat;

/// A number as `0.<digits> × 10^exponent`; the first digit is not zero.
struct Decimal<'a> {
    /// -1, 0 or 1.
    sign: i8,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

/// Compares two JSON numbers.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let (one, other) = (Decimal::of(one), Decimal::of(other));
    match one.sign.cmp(&other.sign) {
        Ordering::Equal if one.sign < 0 => other.magnitude(&one),
        Ordering::Equal => one.magnitude(&other),
        signs => signs,
    }
}

impl<'a> Decimal<'a> {
    fn of(number: &'a str) -> Self {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (mantissa, sign) = mantissa.strip_prefix('-').map_or((mantissa, 1), |digits| (digits, -1));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let whole = whole.trim_start_matches('0');
        let significant = if whole.is_empty() { fraction.trim_start_matches('0') } else { fraction };
        let zeros = (fraction.len() - significant.len()) as i64;
        let is_zero = whole.is_empty() && significant.is_empty();
        Self {
            sign: if is_zero { 0 } else { sign },
            whole,
            fraction: significant,
            exponent: (exponent_of(exponent) + whole.len() as i64) - zeros,
        }
    }

    /// Compares two numbers of the same sign without it.
    fn magnitude(&self, other: &Self) -> Ordering {
        if self.sign == 0 {
            return Ordering::Equal;
        }
        let most = self.length().max(other.length());
        let padded = |number: &Self| number.digits().chain(repeat(b'0')).take(most);
        self.exponent.cmp(&other.exponent).then_with(|| padded(self).cmp(padded(other)))
    }

    fn length(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    fn digits(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.whole.bytes().chain(self.fraction.bytes())
    }
}

/// Returns an exponent; one that is too large for any number is bounded.
fn exponent_of(text: &str) -> i64 {
    let bound = if text.starts_with('-') { -i64::from(i32::MAX) } else { i64::from(i32::MAX) };
    text.parse().map_or(bound, |exponent: i32| exponent.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_exactly_however_they_are_written() {
        for (one, other, order) in [
            ("0", "-0.00e7", Ordering::Equal),
            ("100", "1e2", Ordering::Equal),
            ("0.10", "1.0E-1", Ordering::Equal),
            ("-1.5e+3", "-1500", Ordering::Equal),
            ("12345678901234567890123", "12345678901234567890124", Ordering::Less),
            ("0.30000000000000004", "0.3", Ordering::Greater),
            ("-2", "-10", Ordering::Greater),
            ("-1", "0", Ordering::Less),
            ("1e-300", "0", Ordering::Greater),
            ("9", "10", Ordering::Less),
            ("0.009", "0.01", Ordering::Less),
            ("1e99999999999", "1e308", Ordering::Greater),
            ("1e-99999999999", "1e-308", Ordering::Less),
        ] {
            assert_eq!(compare(one, other), order, "{one} {other}");
            assert_eq!(compare(other, one), order.reverse(), "{other} {one}");
        }
    }

    proptest::proptest! {
        #[test]
        fn numbers_that_a_float_holds_are_ordered_as_floats(
            one in -10_000_i64..10_000, other in -10_000_i64..10_000, exponent in -5_i32..5
        ) {
            let (a, b) = (format!("{one}e{exponent}"), format!("{other}e{exponent}"));
            proptest::prop_assert_eq!(compare(&a, &b), one.cmp(&other));
            let shown = format!("{}", other as f64 / 16.0);
            proptest::prop_assert_eq!(compare(&format!("{}", one as f64 / 16.0), &shown), one.cmp(&other));
        }
    }
}
