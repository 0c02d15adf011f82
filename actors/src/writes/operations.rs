//! The deletion of many operations.

use platform_model::change::PublishedChange;
use platform_model::error::Result;
use platform_model::links::Links;
use platform_model::operation::OperationFilter;
use platform_store::operations::collection;

use super::{Cause, DeletionPublisher, WriteContext};

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
    let mut publisher = DeletionPublisher::new(context, Cause::persistent(links));
    let mut deletion = collection::deletion(&context.database, &context.tenant, filter);
    while let Some(gone) = deletion.next().await? {
        publisher.publish(gone, PublishedChange::OperationDeleted);
    }
    Ok(())
}
