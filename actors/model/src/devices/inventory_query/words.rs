//! The meaning of a single word of a query.

use super::parser::{FILTER, ORDER_BY};
use crate::limits::MAX_NUMBER_LENGTH;

/// The decimal exponents of a 64-bit float range from -324 to 308.
const MAX_EXPONENT: i32 = 324;

/// Returns whether a word begins with `filter=` or `orderby=`, in any case.
pub(super) fn lacks_dollar(word: &str) -> bool {
    [FILTER, ORDER_BY].iter().any(|part| {
        let part = part.trim_start_matches('$');
        word.get(..part.len()).is_some_and(|start| start.eq_ignore_ascii_case(part))
    })
}

/// Returns whether a word is a JSON number within the range of a 64-bit float, as required in bodies.
pub(super) fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (word, None),
    };
    let mantissa = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
            && exponent.parse::<i32>().is_ok_and(|exponent| exponent.abs() <= MAX_EXPONENT)
    });
    word.len() <= MAX_NUMBER_LENGTH
        && digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent_fits
        && word.parse().is_ok_and(f64::is_finite)
}
