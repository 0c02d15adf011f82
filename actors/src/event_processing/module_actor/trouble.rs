//! The reasons for which a module is switched off, and the count of its faults.

use platform_epl::value::Fault;
use std::collections::VecDeque;

/// The number of faults within a minute that a module may have.
const FAULTS: usize = 100;
const MINUTE: i64 = 60_000;
/// The number of characters of a fault that are shown and logged.
const SHOWN: usize = 500;

/// The reason why a module is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The module had too many faults within a minute.
    Faults,
    /// The module retains too much.
    Retained,
    /// Events came faster than the module could handle them.
    Overload,
    /// The module requested more writes than could be made.
    Writes,
    /// A step of the module ended in a panic.
    Panic,
    /// The module cannot be planned any more.
    Plan,
}

impl Cause {
    /// Returns the label of the cause in metrics.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Faults => "faults",
            Self::Retained => "retained",
            Self::Overload => "overload",
            Self::Writes => "writes",
            Self::Panic => "panic",
            Self::Plan => "plan",
        }
    }
}

/// The reason why a module cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) cause: Cause,
    /// The text for the audit record.
    pub(crate) text: String,
}

impl Trouble {
    pub(crate) fn new(cause: Cause, text: impl Into<String>) -> Self {
        Self { cause, text: text.into() }
    }
}

/// The faults of the last minute.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// The times of the faults, in milliseconds.
    times: VecDeque<i64>,
}

impl Faults {
    /// Counts a fault of a statement. Returns the number of faults within a minute.
    ///
    /// # Errors
    /// A [`Trouble`] when the fault exceeds the limit.
    pub(super) fn count(&mut self, statement: &str, fault: &Fault, now: i64) -> Result<usize, Trouble> {
        while self.times.front().is_some_and(|first| *first <= now - MINUTE) {
            self.times.pop_front();
        }
        self.times.push_back(now);
        if self.times.len() <= FAULTS {
            return Ok(self.times.len());
        }
        let text = format!(
            "more than {FAULTS} errors within a minute, the last in statement '{statement}': {}",
            shown(fault)
        );
        Err(Trouble::new(Cause::Faults, text))
    }
}

/// Returns the text of a fault, shortened for display.
pub(super) fn shown(fault: &Fault) -> String {
    let text = fault.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hundred_faults_within_a_minute_are_tolerated_and_one_more_is_not() {
        let (mut faults, fault) = (Faults::default(), Fault::new("no number"));
        for n in 1..=100 {
            assert_eq!(faults.count("hot", &fault, n), Ok(n as usize));
        }

        let trouble = faults.count("hot", &fault, 101).unwrap_err();

        assert_eq!(trouble.cause, Cause::Faults);
        let text = "more than 100 errors within a minute, the last in statement 'hot': no number";
        assert_eq!(trouble.text, text);
    }

    #[test]
    fn faults_older_than_a_minute_do_not_count() {
        let (mut faults, fault) = (Faults::default(), Fault::new("no number"));
        (0..100).for_each(|_| drop(faults.count("hot", &fault, 1000)));

        assert_eq!(faults.count("hot", &fault, 61_000), Ok(1));
    }

    #[test]
    fn long_fault_is_shortened_between_characters() {
        let text = shown(&Fault::new("é".repeat(600)));
        assert_eq!(text.chars().count(), SHOWN + 1);
    }
}
