//! Lists: conditions from filters, and scans that keep an order.

pub(crate) mod filter;
pub(crate) mod ordered_scan;
pub(crate) mod time_scan;
