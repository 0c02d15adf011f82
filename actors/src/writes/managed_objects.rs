//! New managed objects, with or without a file. A new object has no history to keep in order, so no actor is started
//! for it: a million new assets cost a million rows and no actors.

use std::sync::Arc;

use platform_model::devices::availability::is_device;
use platform_model::devices::managed_object::{ManagedObject, NewManagedObject};
use platform_model::error::{Error, Result};
use platform_model::id::{BinaryId, ManagedObjectId};
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_store::access::recent_sources::NewSource;
use platform_store::devices::inventory::managed_objects::delete_managed_objects;
use platform_store::devices::inventory::writes::ObjectToInsert;
use platform_store::writer::{Change, Written};

use super::{Cause, WriteContext};

/// A managed object to create.
#[derive(Debug, Clone)]
pub struct NewObject {
    /// The body of the request.
    pub object: NewManagedObject,
    /// The caller, who becomes the owner.
    pub origin: Origin,
}

/// Creates a managed object and publishes CREATE.
///
/// # Errors
/// `Unavailable` or `Database`; nothing was published then.
pub(crate) async fn create_object(
    context: &WriteContext,
    id: ManagedObjectId,
    new: NewObject,
) -> Result<Arc<ManagedObject>> {
    create(context, id, new, None).await
}

/// Creates a managed object, with an upload as its file.
async fn create(
    context: &WriteContext,
    id: ManagedObjectId,
    new: NewObject,
    file: Option<BinaryId>,
) -> Result<Arc<ManagedObject>> {
    let NewObject { object, origin } = new;
    let stores = origin.mode.stores();
    let object = Arc::new(object.created(stores.then_some(id), &origin.user));
    let published = PublishedChange::ManagedObjectCreated(object.clone());
    if stores {
        let new_source =
            is_device(&object.fragments).then(|| NewSource::of(&context.database, &context.tenant));
        Box::pin(context.database.recount_devices(&context.tenant, &object.fragments)).await;
        let to_insert = ObjectToInsert { object: object.clone(), file };
        let change = Change::InsertManagedObject(context.tenant.clone(), to_insert);
        let written = context.commit_stored(change, &origin, id, published).await?;
        if !matches!(written, Written::Stored) {
            // Its upload was deleted as abandoned. An object without its file must not exist.
            let (database, tenant) = (&context.database, &context.tenant);
            Box::pin(delete_managed_objects(database, tenant, &[id], origin.fence(), None, None)).await?;
            return Err(Error::unavailable("the upload was deleted before it became the file of an object"));
        }
        if let Some(source) = new_source {
            source.created(&context.database, &context.tenant, id, &origin.user);
        }
    } else {
        context.publish(id, published, Cause::of(&origin));
        context.published().await?;
    }
    Ok(object)
}

/// Creates a managed object with a finished upload as its file, and publishes CREATE.
///
/// # Errors
/// `Unavailable` or `Database`; nothing was published then.
pub(crate) async fn create_binary(
    context: &WriteContext,
    id: ManagedObjectId,
    new: NewObject,
    binary: BinaryId,
) -> Result<Arc<ManagedObject>> {
    create(context, id, new, Some(binary)).await
}
