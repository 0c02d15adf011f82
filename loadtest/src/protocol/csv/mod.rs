//! The compact CSV protocol of a device (docs/rules.md#csv-protocol): lines ([`lines`]), rows ([`rows`]) and the
//! results in their responses ([`verdict`]), a template set ([`template_set`]), and polls ([`session`],
//! [`poll_response`]).

pub(crate) mod lines;
pub(crate) mod poll_response;
pub(crate) mod rows;
pub(crate) mod session;
pub(crate) mod template_set;
pub(crate) mod verdict;

/// The path to which rows are posted.
pub(crate) const PATH: &str = "/s";
/// The header without which the response is empty, whatever the result of the rows (C-08, C-20).
pub(crate) const ACCEPT: &str = "Accept: */*\r\n";
/// The X-Id of the built-in set (H-01).
pub(crate) const STATIC: &str = "plat_Static";

/// Returns the complete header line that names a template set.
pub(crate) fn x_id(name: &str) -> String {
    format!("X-Id: {name}\r\n")
}
