//! The names that fragments can have, and those by which clients select data (I-08a, I-13).
//!
//! A filter or a query by a name that no fragment can have matches nothing, so its negation matches everything. Such a
//! name is a slip: a shell has replaced `$filter` by nothing, or a variable of a script is empty.

use crate::error::{Error, Result};

/// The maximum number of bytes of a name.
pub(crate) const MAX_NAME: usize = 1024;

/// The members of a managed object that only the server sets; they are ignored in bodies (I-01).
pub(crate) const SERVER_MEMBERS: [&str; 11] = [
    "id",
    "self",
    "creationTime",
    "creationDate",
    "lastUpdated",
    "childDevices",
    "childAssets",
    "childAdditions",
    "deviceParents",
    "assetParents",
    "additionParents",
];

/// Returns whether this is a fixed member of managed objects, so that none has a fragment of this name.
pub(crate) fn is_fixed_member(name: &str) -> bool {
    SERVER_MEMBERS.contains(&name) || ["type", "name", "owner"].contains(&name)
}

/// Returns whether a body may have a fragment of this name (I-13).
pub fn is_storable(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && !name.starts_with('$') && !name.contains('.')
}

/// Parses a filter by the name of a fragment (I-08a). `member` is the parameter or the member that contains the filter.
///
/// # Errors
/// `Invalid` names the member, the value and what is allowed.
pub fn parse_filter(member: &str, name: &str) -> Result<String> {
    if is_storable(name) && !name.starts_with('=') && !name.contains(char::is_whitespace) {
        return Ok(name.to_owned());
    }
    let allowed =
        "the name of a fragment: 1 to 1024 bytes, not starting with '$' or '=', without '.' and blanks";
    Err(Error::invalid_value(member, format_args!("'{}'", name.escape_debug()), allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_by_a_name_that_no_fragment_can_have_is_refused() {
        let long = "x".repeat(MAX_NAME + 1);
        for name in ["", " ", "$type", "$", "=type", "a b", "a\tb", "a\u{a0}b", "a.b", &long] {
            let error = parse_filter("fragmentType", name).expect_err(name).to_string();
            assert!(error.contains("'fragmentType'") && error.contains("not starting with '$'"), "{error}");
        }
        for name in ["plat_Restart", "größe", "-1", "x*y", "a=b", "a$", "日本", "it's"] {
            assert_eq!(parse_filter("fragmentType", name).expect(name), name);
        }
    }

    proptest::proptest! {
        #[test]
        fn name_that_a_filter_takes_can_be_stored(name in r"[\$=. a\x00é]{0,4}") {
            if parse_filter("fragmentType", &name).is_ok() {
                proptest::prop_assert!(is_storable(&name));
            }
        }
    }
}
