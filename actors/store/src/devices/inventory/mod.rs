//! Managed objects, the links between them and their external ids.

pub mod collection;
pub mod external_ids;
pub mod links;
pub mod managed_objects;
pub(crate) mod query;
pub(crate) mod scan_index;
pub(crate) mod server_fragments;
pub mod template_sets;
pub mod writes;
