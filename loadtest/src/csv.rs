//! The compact CSV protocol as a device speaks it (docs/rules.md#csv-protocol): lines ([`lines`]), rows
//! ([`rows`]) and what their answers mean ([`verdict`]), a template set ([`template_set`]), and polls ([`session`]).

pub(crate) mod lines;
pub(crate) mod rows;
pub(crate) mod session;
pub(crate) mod template_set;
pub(crate) mod told;
pub(crate) mod verdict;

/// Where rows are posted.
pub(crate) const PATH: &str = "/s";
/// Without it the answer is empty, whatever became of the rows (C-08, C-20).
pub(crate) const ACCEPT: &str = "Accept: */*\r\n";
/// The set that is built in (H-01).
pub(crate) const STATIC: &str = "plat_Static";

/// The complete header line that names a template set.
pub(crate) fn x_id(name: &str) -> String {
    format!("X-Id: {name}\r\n")
}
