//! The macro that makes [`Limits`] and its table of one row per limit.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Limits;

// Times are in milliseconds.
pub(super) const SECOND: u64 = 1000;
pub(super) const MINUTE: u64 = 60 * SECOND;
pub(super) const HOUR: u64 = 60 * MINUTE;
pub(super) const DAY: u64 = 24 * HOUR;

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;
pub(super) const GIB: u64 = 1 << 30;
pub(super) const TIB: u64 = 1 << 40;

/// The default of a limit that applies only if an operator sets it.
pub(super) const UNLIMITED: u64 = u64::MAX;

/// A limit that an operator may set.
#[derive(Debug)]
pub struct Limit {
    /// The name of its flag. It ends in the unit of its number: `-ms`, `-seconds` or `bytes`; otherwise the number
    /// counts items.
    pub flag: &'static str,
    /// The description for operators: a line, and maybe further paragraphs.
    pub doc: &'static str,
    /// The default in items, bytes or milliseconds; `None` when the limit applies only if an operator sets it.
    pub default: Option<u64>,
    /// The values that an operator may set.
    pub range: RangeInclusive<u64>,
    /// The rules that name it (docs/rules.md), such as `I-12, V-07`.
    pub rules: &'static str,
    /// Sets its field.
    pub set: fn(&mut Limits, u64),
}

/// Makes the struct of the limits, its defaults and its table of
/// `field: type = default, range, "flag", "rules";`, with times in milliseconds.
macro_rules! limits {
    (
        settable:
        $($(#[doc = $doc:literal])+
        $field:ident: $kind:ty = $default:expr, $range:expr, $flag:literal $(, $rules:literal)?;)+
        for_tests:
        $($(#[doc = $fixed_doc:literal])+
        $fixed:ident: $fixed_kind:ty = $value:expr;)+
    ) => {
        /// The limits of a server.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits {
            $($(#[doc = $doc])+ pub $field: $kind,)+
            $($(#[doc = $fixed_doc])+ pub $fixed: $fixed_kind,)+
        }

        /// The limits that an operator may set.
        pub static TABLE: &[Limit] = &[$(Limit {
            flag: $flag,
            doc: concat!($($doc, "\n"),+),
            default: table::unless_unlimited($default),
            range: $range,
            rules: concat!($($rules)?),
            set: |limits, value| limits.$field = table::Amount::of(value),
        }),+];

        impl Default for Limits {
            fn default() -> Self {
                Self { $($field: table::Amount::of($default),)+ $($fixed: $value,)+ }
            }
        }
    };
}

/// Returns the default of a row; `None` for [`UNLIMITED`].
pub(super) const fn unless_unlimited(default: u64) -> Option<u64> {
    if default == UNLIMITED { None } else { Some(default) }
}

/// The type of a limit's field.
pub(super) trait Amount {
    /// Returns the value of a number of items, bytes or milliseconds.
    fn of(value: u64) -> Self;
}

impl Amount for Duration {
    fn of(value: u64) -> Self {
        Self::from_millis(value)
    }
}

impl Amount for usize {
    fn of(value: u64) -> Self {
        Self::try_from(value).unwrap_or(Self::MAX)
    }
}

impl Amount for u32 {
    fn of(value: u64) -> Self {
        Self::try_from(value).unwrap_or(Self::MAX)
    }
}

/// The value `None` means that there is no limit.
impl Amount for Option<usize> {
    fn of(value: u64) -> Self {
        unless_unlimited(value).map(Amount::of)
    }
}
