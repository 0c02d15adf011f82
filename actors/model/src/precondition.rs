//! The condition of a write: the header `If-Match` (RFC 9110, section 13.1.1; C-23).

use crate::error::{Error, Noun, Result};

/// The revision of a new object, which no change has increased.
pub const FIRST_REVISION: i64 = 0;

/// The revisions that an object may have when a request changes it. A request without such a condition changes any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precondition(Vec<i64>);

impl Precondition {
    /// Parses the values of the header; `None` for `*`, because what does not exist is never changed. A tag that this
    /// API did not create matches no revision. A weak tag counts like a strong one, because proxies that compress mark
    /// every tag as weak.
    ///
    /// # Errors
    /// `Invalid` for anything but `*` and tags in quotes.
    pub fn parse(header: &str) -> Result<Option<Self>> {
        let mut rest = header.trim();
        if rest == "*" {
            return Ok(None);
        }
        let mut revisions = Vec::new();
        loop {
            let quoted = rest.strip_prefix("W/").unwrap_or(rest);
            let tag = quoted.strip_prefix('"').and_then(|quoted| quoted.split_once('"'));
            let (tag, after) = tag.ok_or_else(|| invalid(header))?;
            revisions.extend(tag.parse::<i64>());
            match after.trim_start() {
                "" => return Ok(Some(Self(revisions))),
                after => rest = after.strip_prefix(',').ok_or_else(|| invalid(header))?.trim_start(),
            }
        }
    }

    /// Checks the condition for an object with this revision.
    ///
    /// # Errors
    /// `PreconditionFailed`, with both revisions.
    pub fn check(&self, noun: Noun, id: impl ToString, revision: i64) -> Result<()> {
        if self.0.contains(&revision) {
            return Ok(());
        }
        Err(Error::PreconditionFailed { noun, id: id.to_string(), revision, expected: self.shown() })
    }

    fn shown(&self) -> String {
        let tags: Vec<_> = self.0.iter().map(|revision| format!("\"{revision}\"")).collect();
        if tags.is_empty() { "none that it can have".into() } else { tags.join(", ") }
    }
}

fn invalid(header: &str) -> Error {
    Error::invalid_value(
        "If-Match",
        header,
        "*, or the ETag of a response, such as \"3\", or several with commas",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_revisions_and_others_match_nothing() {
        for (header, revisions) in [
            ("\"3\"", vec![3]),
            (" \"3\" , \"4\"", vec![3, 4]),
            ("W/\"3\",\"a, b\",\"\"", vec![3]),
            ("\"a\"", vec![]),
        ] {
            assert_eq!(Precondition::parse(header).expect(header), Some(Precondition(revisions)), "{header}");
        }
        assert_eq!(Precondition::parse(" * ").expect("valid"), None);
    }

    #[test]
    fn anything_else_is_named_with_what_is_allowed() {
        for header in ["", "3", "\"3", "\"3\" \"4\"", "\"3\",", "*, \"3\"", "w/\"3\""] {
            let error = Precondition::parse(header).expect_err(header).to_string();
            assert!(
                error.starts_with(&format!("Invalid value of 'If-Match': {header}; allowed: *,")),
                "{error}"
            );
        }
    }

    #[test]
    fn failure_names_both_revisions() {
        let condition = Precondition::parse("\"3\", \"4\"").expect("valid").expect("a condition");
        assert!(condition.check(Noun::Alarm, 7, 4).is_ok());
        let error = condition.check(Noun::Alarm, 7, 5).expect_err("another revision").to_string();
        assert_eq!(error, "alarm '7' has changed: its ETag is \"5\", and If-Match allows \"3\", \"4\"");
    }
}
