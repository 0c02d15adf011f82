//! The arguments of static rows: an empty one counts as absent, and trailing commas may be omitted (H-03).

use std::borrow::Cow;

use platform_model::timestamp::Timestamp;
use serde_json::value::RawValue;

use crate::csv::kind::{JsonNumber, Kind};
use crate::csv::refusal::Refusal;

/// The values after the message id, counted from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'r>(pub(crate) &'r [Cow<'r, str>]);

impl<'r> Arguments<'r> {
    /// Checks that there are no arguments.
    ///
    /// # Errors
    /// `NoArguments` when there are some.
    pub(crate) fn none(self) -> Result<(), Refusal> {
        match self.given() {
            [] => Ok(()),
            _ => Err(Refusal::NoArguments),
        }
    }

    /// Checks the number of arguments.
    ///
    /// # Errors
    /// `WrongNumber` when there are more.
    pub(crate) fn at_most(self, count: usize) -> Result<(), Refusal> {
        if self.given().len() <= count { Ok(()) } else { Err(Refusal::WrongNumber) }
    }

    /// Returns a mandatory text.
    ///
    /// # Errors
    /// `WrongNumber` when it is absent.
    pub(crate) fn mandatory(self, at: usize) -> Result<&'r str, Refusal> {
        self.text(at).ok_or(Refusal::WrongNumber)
    }

    /// Returns an optional text.
    pub(crate) fn text(self, at: usize) -> Option<&'r str> {
        self.0.get(at).map(|value| &**value).filter(|value| !value.is_empty())
    }

    /// Returns an optional number as JSON, with its digits preserved.
    ///
    /// # Errors
    /// `Kind` when it is not a number.
    pub(crate) fn number(self, at: usize) -> Result<Option<Box<RawValue>>, Refusal> {
        Ok(self.of_kind(at, Kind::Number)?.map(|text| JsonNumber::of(text).to_raw()))
    }

    /// Returns an optional integer as JSON, with its digits preserved.
    ///
    /// # Errors
    /// `Kind` when it is not an integer.
    pub(crate) fn integer(self, at: usize) -> Result<Option<Box<RawValue>>, Refusal> {
        Ok(self.of_kind(at, Kind::Integer)?.map(|text| JsonNumber::of(text).to_raw()))
    }

    /// Returns a mandatory number, to be written into a body.
    ///
    /// # Errors
    /// `WrongNumber` when it is absent, `Kind` when it is not a number.
    pub(crate) fn mandatory_number(self, at: usize) -> Result<JsonNumber<'r>, Refusal> {
        self.of_kind(at, Kind::Number)?.map(JsonNumber::of).ok_or(Refusal::WrongNumber)
    }

    /// Returns an optional date-time verbatim. It must have a zone, because it becomes the time of the
    /// created object (S-25a).
    ///
    /// # Errors
    /// `Kind` when it is not such a date-time.
    pub(crate) fn date(self, at: usize) -> Result<Option<&'r str>, Refusal> {
        match self.text(at) {
            Some(value) if Timestamp::parse("", value).is_err() => {
                Err(Refusal::Kind(Kind::Date, value.to_owned()))
            }
            value => Ok(value),
        }
    }

    /// Returns an optional value of a type.
    ///
    /// # Errors
    /// `Kind` when it is of another type.
    pub(crate) fn of_kind(self, at: usize, kind: Kind) -> Result<Option<&'r str>, Refusal> {
        match self.text(at) {
            Some(value) if !kind.accepts(value) => Err(Refusal::Kind(kind, value.to_owned())),
            value => Ok(value),
        }
    }

    /// Returns the arguments from this position on; absent ones are empty, and trailing ones are omitted.
    pub(crate) fn from(self, at: usize) -> &'r [Cow<'r, str>] {
        self.given().get(at..).unwrap_or_default()
    }

    fn given(self) -> &'r [Cow<'r, str>] {
        let count = self.0.iter().rposition(|value| !value.is_empty()).map_or(0, |last| last + 1);
        &self.0[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_a_zone() {
        let date = |text: &str| Arguments(&[text.into()]).date(0).map(|date| date.map(ToOwned::to_owned));
        for text in ["2020-07-22T17:03:14Z", "2020-07-22T17:03:14.123+02:00", "2020-07-22T17:03:14+0200"] {
            assert_eq!(date(text), Ok(Some(text.to_owned())));
        }
        for text in ["2020-07-22", "2020-07-22T17:03:14", "today"] {
            assert_eq!(date(text), Err(Refusal::Kind(Kind::Date, text.to_owned())));
        }
        assert_eq!(date(""), Ok(None));
    }

    #[test]
    fn empty_arguments_are_absent_and_trailing_commas_may_be_dropped() {
        let values: Vec<Cow<'_, str>> = ["a", "", "c", "", ""].map(Into::into).to_vec();
        let arguments = Arguments(&values);
        assert_eq!((arguments.text(0), arguments.text(1), arguments.text(9)), (Some("a"), None, None));
        assert_eq!((arguments.at_most(3), arguments.at_most(2)), (Ok(()), Err(Refusal::WrongNumber)));
        assert_eq!(arguments.mandatory(1), Err(Refusal::WrongNumber));
        assert_eq!(arguments.from(1), ["", "c"]);
        assert_eq!(arguments.none(), Err(Refusal::NoArguments));
        assert_eq!(Arguments(&values[3..]).none(), Ok(()));
    }
}
