//! The deletion of many operations.

use platform_model::data::operation::OperationFilter;
use platform_model::error::Result;
use platform_model::links::Links;
use platform_store::data::operations::collection;
use platform_store::realtime::publications::DeletionNotices;

use super::{Cause, WriteContext};

/// Deletes the matching operations, and publishes DELETE for each of the first thousand (O-08, B-06). The deletion
/// consists of many short transactions; a caller that stops halfway may repeat the request.
///
/// # Errors
/// `Timeout`, `Contended`, `Unavailable` or `Database`; some of the operations may be deleted then.
pub(crate) async fn delete_operations(
    context: &WriteContext,
    filter: &OperationFilter,
    links: &Links,
) -> Result<()> {
    let notices = DeletionNotices::new(Cause::persistent(links));
    collection::deletion(&context.database, &context.tenant, filter, &notices).run().await
}
