//! Lists: conditions from filters, and scans that keep an order.

pub(crate) mod filter;
pub(crate) mod ordered_scan;
pub(crate) mod prepared;
pub(crate) mod rows;
pub(crate) mod shared_lookups;
pub(crate) mod time_scan;
