//! The parts that reads of all nouns have in common: conditions from filters, scans that keep an order, statements that
//! are prepared once, reads of one moment, and look-ups that share statements.

pub(crate) mod filter;
pub mod moment;
pub(crate) mod ordered_scan;
pub(crate) mod prepared;
pub(crate) mod rows;
pub(crate) mod shared_lookups;
pub(crate) mod time_scan;
