//! The managed object of a device: its creation, changes and end.

use std::sync::Arc;

use actix::prelude::*;

use super::{Context, Device, DeviceActor};
use crate::error::{Error, Noun, Result};
use crate::hub::Event;
use crate::limits::NOTIFIED_DELETIONS;
use crate::model::id::{ManagedObjectId, TenantId};
use crate::model::managed_object::{Cascade, ManagedObject, ManagedObjectPatch, NewManagedObject};
use crate::model::origin::Origin;
use crate::model::reference::WantedReferences;
use crate::model::timestamp::Timestamp;
use crate::store;
use crate::store::access::Source;
use crate::store::managed_objects::{ChangedBy, ManagedObjectUpdate};
use crate::writer::{Change, Written};

/// A managed object to create.
#[derive(Debug, Clone)]
pub struct NewObject {
    /// Body of the request.
    pub object: NewManagedObject,
    /// Who asks; becomes the owner.
    pub origin: Origin,
}

/// Changes what a PUT sent, and nothing else (C-10).
///
/// Sent by the edge for `PUT /inventory/managedObjects/<id>`. Replies with the object as it stands. Publishes UPDATE;
/// an empty PUT is a heartbeat, changes nothing and tells nobody (I-15). Changes of smart rules are audited (Y-06).
///
/// # Errors
/// `NotFound`, `Forbidden` for a caller who needs to be the owner and is not; `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<ManagedObject>>")]
pub struct UpdateManagedObject {
    /// Body of the request.
    pub patch: Arc<ManagedObjectPatch>,
    /// Who asks.
    pub origin: Arc<Origin>,
}

/// Deletes the object with all its data, and what the cascade names (I-10). Replies when it is gone. Publishes DELETE of
/// each object, up to a thousand (B-06). TRANSIENT deletes nothing and tells modules only (M-04).
///
/// # Errors
/// `NotFound`, `Forbidden`, `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub struct DeleteManagedObject {
    /// What goes with it.
    pub cascade: Cascade,
    /// Who asks.
    pub origin: Arc<Origin>,
}

/// Creates a managed object and publishes CREATE. It has no history to keep in order, so no actor is started for it:
/// an inventory of a million assets costs a million rows, not actors.
///
/// # Errors
/// `Unavailable` or `Database`: then nothing was published.
pub(crate) async fn create(
    context: &Context,
    id: ManagedObjectId,
    new: NewObject,
) -> Result<Arc<ManagedObject>> {
    create_by(context, id, new, Change::InsertManagedObject).await
}

/// Creates a managed object by the change that `change` makes of it.
pub(super) async fn create_by(
    context: &Context,
    id: ManagedObjectId,
    new: NewObject,
    change: impl FnOnce(TenantId, Arc<ManagedObject>) -> Change,
) -> Result<Arc<ManagedObject>> {
    let NewObject { object, origin } = new;
    let stores = origin.mode.stores();
    let object = Arc::new(object.created(stores.then_some(id), &origin.user));
    if stores {
        let written =
            context.writer.write(change(context.tenant.clone(), object.clone()), origin.fence()).await?;
        if !matches!(written, Written::Stored) {
            // Its upload was swept away: an object without the content it tells of is none.
            let (database, tenant) = (&context.database, &context.tenant);
            store::managed_objects::delete_managed_objects(database, tenant, &[id], origin.fence()).await?;
            return Err(Error::unavailable("an upload has gone before it became an object's content"));
        }
    }
    let event = Event::ManagedObjectCreated(object.clone());
    context.publish(id, event, origin.cause());
    Ok(object)
}

impl Handler<UpdateManagedObject> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<ManagedObject>>>;

    fn handle(&mut self, message: UpdateManagedObject, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.update_managed_object(message).await)
    }
}

impl Handler<DeleteManagedObject> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: DeleteManagedObject, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.delete_managed_object(message).await)
    }
}

impl Device {
    async fn update_managed_object(&mut self, message: UpdateManagedObject) -> Result<Arc<ManagedObject>> {
        self.update_by(message, Change::UpdateManagedObject).await
    }

    /// Changes the object by the change that `change` makes of the update.
    pub(super) async fn update_by(
        &mut self,
        message: UpdateManagedObject,
        change: impl FnOnce(TenantId, ManagedObjectUpdate) -> Change,
    ) -> Result<Arc<ManagedObject>> {
        let UpdateManagedObject { patch, origin } = message;
        self.authorize(&origin, Source::has_fragment).await?;
        if patch.is_empty() || !origin.mode.stores() {
            let object = self.unchanged(&patch, &origin).await?;
            self.context.heard(self.id, &origin);
            return Ok(object);
        }
        let by = ChangedBy {
            audit_record: self.context.ids.next(),
            user: origin.user.clone(),
            application: origin.application.clone(),
        };
        let update = ManagedObjectUpdate { id: self.id, patch, time: Timestamp::now(), by };
        let sets_templates = update.sets_templates();

        let written =
            self.context.writer.write(change(self.context.tenant.clone(), update), origin.fence()).await?;

        if sets_templates {
            self.context.database.names_changed(&self.context.tenant);
        }
        match written {
            Written::ManagedObject(object) => {
                let mut object = [*object];
                let (database, tenant) = (&self.context.database, &self.context.tenant);
                let wanted = WantedReferences::default();
                store::links::add_references(database, tenant, &mut object, wanted).await?;
                let [object] = object.map(Arc::new);
                self.publish(Event::ManagedObjectUpdated(object.clone()), &origin);
                self.context.heard(self.id, &origin);
                Ok(object)
            }
            _ => Err(self.missing()),
        }
    }

    /// Answers a PUT that stores nothing: a heartbeat, or the object as it would be (M-02).
    async fn unchanged(&mut self, patch: &ManagedObjectPatch, origin: &Origin) -> Result<Arc<ManagedObject>> {
        let mut object = Arc::unwrap_or_clone(self.as_it_stands().await?);
        patch.apply(&mut object);
        let object = Arc::new(object);
        if !patch.is_empty() {
            self.publish(Event::ManagedObjectUpdated(object.clone()), origin);
        }
        Ok(object)
    }

    async fn delete_managed_object(&mut self, message: DeleteManagedObject) -> Result<()> {
        let DeleteManagedObject { cascade, origin } = message;
        self.authorize(&origin, Source::has_fragment).await?;
        if !origin.mode.stores() {
            self.context.feed(self.id, &Event::ManagedObjectDeleted(self.id), origin.cause());
            return Ok(());
        }
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let going = store::managed_objects::list_cascade(database, tenant, self.id, cascade).await?;
        for id in going.iter().filter(|id| **id != self.id) {
            if !self.may_write(*id, &origin).await? {
                return Err(Error::Forbidden);
            }
        }

        let gone =
            store::managed_objects::delete_managed_objects(database, tenant, &going, origin.fence()).await?;

        if !gone.contains(&self.id) {
            return Err(self.missing());
        }
        self.gone = true;
        self.context.links_changed();
        for id in gone.into_iter().rev().take(NOTIFIED_DELETIONS) {
            let event = Event::ManagedObjectDeleted(id);
            self.context.publish(id, event, origin.cause());
        }
        Ok(())
    }

    /// The object with its references, for those who listen.
    pub(super) async fn as_it_stands(&self) -> Result<Arc<ManagedObject>> {
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let wanted = WantedReferences::default();
        Ok(Arc::new(store::managed_objects::get_managed_object(database, tenant, self.id, wanted).await?))
    }

    fn missing(&mut self) -> Error {
        self.gone = true;
        Error::not_found(Noun::ManagedObject, self.id)
    }
}
