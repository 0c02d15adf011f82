//! The managed object of a device: its changes and deletion.

use std::sync::Arc;

use actix::prelude::*;
use platform_model::devices::availability::is_device;
use platform_model::devices::managed_object::{Cascade, ManagedObject, ManagedObjectPatch};
use platform_model::devices::reference::WantedReferences;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{BinaryId, ManagedObjectId};
use platform_model::naming::naming;
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::Publication;
use platform_model::realtime::transactions::TransactionId;
use platform_model::timestamp::Timestamp;
use platform_store::access::SourceObject;
use platform_store::devices::inventory::writes::{ChangedBy, ManagedObjectUpdate};
use platform_store::realtime::publications::DeletionNotices;
use platform_store::writer::{Change, Committed, Describe, Written};

use super::{Cause, Device, DeviceActor};

/// Changes the fields that a PUT contains and no others (C-10).
///
/// Sent by the HTTP layer for `PUT /inventory/managedObjects/<id>`. The reply is the current object. Publishes
/// UPDATE. An empty PUT is a heartbeat; it changes and publishes nothing (I-15). Changes of smart rules are audited
/// (Y-06).
///
/// # Errors
/// `NotFound`, `Forbidden` when the caller must own the object and does not; `PreconditionFailed` when it has another
/// revision than the request allows; `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<ManagedObject>>")]
pub struct UpdateManagedObject {
    /// The body of the request.
    pub patch: Arc<ManagedObjectPatch>,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

/// Deletes the object with all its data, and the objects that the cascade names (I-10). The reply comes after the
/// deletion. Publishes DELETE of each object, up to a thousand (B-06). TRANSIENT deletes nothing and only sends the
/// deletion to modules (M-04).
///
/// # Errors
/// `NotFound`, `Forbidden`, `PreconditionFailed` (C-23), `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub struct DeleteManagedObject {
    /// The objects that are deleted with it.
    pub cascade: Cascade,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

impl Handler<UpdateManagedObject> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<ManagedObject>>>;

    fn handle(&mut self, message: UpdateManagedObject, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.update_managed_object(message, None).await)
    }
}

impl Handler<DeleteManagedObject> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: DeleteManagedObject, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.delete_managed_object(message).await)
    }
}

/// Returns the description of the UPDATE of an object.
fn describe_update(source: ManagedObjectId, cause: Cause) -> Describe {
    Arc::new(move |written| match written {
        Written::ManagedObject(object) => {
            let change = PublishedChange::ManagedObjectUpdated(object.clone().into());
            vec![Publication::Change { source, change, cause: cause.clone() }]
        }
        _ => Vec::new(),
    })
}

impl Device {
    /// Changes the object, and with an upload its file.
    pub(super) async fn update_managed_object(
        &mut self,
        message: UpdateManagedObject,
        file: Option<BinaryId>,
    ) -> Result<Arc<ManagedObject>> {
        let UpdateManagedObject { patch, origin } = message;
        self.authorize(&origin, SourceObject::has_fragment).await?;
        let revision = self.expected_revision(&origin).await?;
        if patch.is_empty() || !origin.mode.stores() {
            let object = self.unchanged(&patch, &origin).await?;
            self.context.record_heartbeat(self.id, &origin);
            return Ok(object);
        }
        self.ensure_quotas(&patch).await?;
        let by = ChangedBy {
            audit_record: self.context.ids.next()?,
            user: origin.user.clone(),
            application: origin.application.clone(),
        };
        let update = ManagedObjectUpdate { id: self.id, patch, time: Timestamp::now(), by, file, revision };
        let sets_templates = update.sets_templates();

        let change = Change::UpdateManagedObject(self.context.tenant.clone(), update);
        let describe = describe_update(self.id, Cause::of(&origin));

        let Committed { written, route } =
            self.context.writer.write(change, (&*origin).into(), Some(describe)).await?;

        if sets_templates {
            self.context.database.names_changed(&self.context.tenant);
        }
        match written {
            Written::ManagedObject(object) => {
                let object = if route.is_by_caller() {
                    self.publish_update(*object, &origin, route.transaction()).await?
                } else {
                    // The transaction added the references.
                    Arc::new(*object)
                };
                self.context.record_heartbeat(self.id, &origin);
                Ok(object)
            }
            _ if revision.is_some() => Err(self.changed_meanwhile(&origin).await),
            _ => Err(self.missing()),
        }
    }

    /// Returns the revision of the object if the request is conditional, after its condition was checked (C-23).
    async fn expected_revision(&mut self, origin: &Origin) -> Result<Option<i64>> {
        if origin.precondition.is_none() {
            return Ok(None);
        }
        let revision = self.current_object().await?.revision;
        origin.check_revision(Noun::ManagedObject, self.id, revision)?;
        Ok(Some(revision))
    }

    /// Returns why a conditional change found no object with the revision that it had a moment before.
    async fn changed_meanwhile(&mut self, origin: &Origin) -> Error {
        match self.expected_revision(origin).await {
            Err(error) => error,
            // The request allows this revision too.
            Ok(_) => Error::Contended,
        }
    }

    /// Checks a change against the quotas of the tenant (Z-20).
    async fn ensure_quotas(&self, patch: &ManagedObjectPatch) -> Result<()> {
        self.ensure_device_quota(patch).await?;
        self.ensure_growth(patch).await
    }

    /// Checks whether the tenant may have one more device, if a change makes this object one (Z-20).
    async fn ensure_device_quota(&self, patch: &ManagedObjectPatch) -> Result<()> {
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        if !is_device(&patch.fragments) || !database.tenant_limits().of(tenant).bounds_devices() {
            return Ok(());
        }
        match is_device(&self.current_object().await?.fragments) {
            true => Ok(()),
            false => {
                database.recount_devices(tenant, &patch.fragments).await;
                database.ensure_device_quota(tenant, &patch.fragments)
            }
        }
    }

    /// Checks whether the object may grow by a change (Z-20).
    async fn ensure_growth(&self, patch: &ManagedObjectPatch) -> Result<()> {
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        if !database.may_exceed_by_growth(patch.fragments.bytes()) {
            return Ok(());
        }
        let mut object = ManagedObject::clone(&*self.current_object().await?);
        let (before, was_rule) = (object.fragments.bytes(), is_smart_rule(&object));
        // The audit record of a smart rule keeps the previous and the new values (Y-05).
        let length = |name| object.fragments.get(name).map_or(0, |previous| previous.get().len());
        let previous: usize = patch.fragments.names().map(length).sum();
        patch.apply(&mut object);
        let is_recorded = was_rule || is_smart_rule(&object);
        let recorded = if is_recorded { patch.fragments.bytes() + previous } else { 0 };
        database.ensure_growth(tenant, before, object.fragments.bytes() + recorded)
    }

    /// Adds the references to an object that was changed, and delivers UPDATE to this server.
    async fn publish_update(
        &self,
        object: ManagedObject,
        origin: &Origin,
        transaction: Option<TransactionId>,
    ) -> Result<Arc<ManagedObject>> {
        let mut object = [object];
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let wanted = WantedReferences::default();
        platform_store::devices::inventory::links::add_references(database, tenant, &mut object, wanted)
            .await?;
        let [object] = object.map(Arc::new);
        let change = PublishedChange::ManagedObjectUpdated(object.clone());
        let publication = Publication::Change { source: self.id, change, cause: Cause::of(origin) };
        self.context.deliver(publication, transaction);
        Ok(object)
    }

    /// Handles a PUT that stores nothing: a heartbeat, or a mode that only publishes (M-02).
    async fn unchanged(&mut self, patch: &ManagedObjectPatch, origin: &Origin) -> Result<Arc<ManagedObject>> {
        let mut object = Arc::unwrap_or_clone(self.current_object().await?);
        patch.apply(&mut object);
        let object = Arc::new(object);
        if !patch.is_empty() {
            self.publish(PublishedChange::ManagedObjectUpdated(object.clone()), origin);
            self.context.published().await?;
        }
        Ok(object)
    }

    async fn delete_managed_object(&mut self, message: DeleteManagedObject) -> Result<()> {
        let DeleteManagedObject { cascade, origin } = message;
        self.authorize(&origin, SourceObject::has_fragment).await?;
        let revision = self.expected_revision(&origin).await?;
        if !origin.mode.stores() {
            self.context.feed(self.id, PublishedChange::ManagedObjectDeleted(self.id), Cause::of(&origin));
            return Ok(());
        }
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let going = platform_store::devices::inventory::managed_objects::list_cascade(
            database, tenant, self.id, cascade,
        )
        .await?;
        for id in going.iter().filter(|id| **id != self.id) {
            if !self.may_write(*id, &origin).await? {
                return Err(Error::Forbidden);
            }
        }

        let notices = DeletionNotices::new(Cause::of(&origin));
        let gone = platform_store::devices::inventory::managed_objects::delete_managed_objects(
            database,
            tenant,
            &going,
            origin.fence(),
            Some(&notices),
            revision,
        )
        .await?;

        if gone.contains(&self.id) {
            self.gone = true;
            return Ok(());
        }
        Err(match revision {
            Some(_) => self.changed_meanwhile(&origin).await,
            None => self.missing(),
        })
    }

    /// Returns the current object with its references, as it is published.
    pub(super) async fn current_object(&self) -> Result<Arc<ManagedObject>> {
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let wanted = WantedReferences::default();
        Ok(Arc::new(
            platform_store::devices::inventory::managed_objects::get_managed_object(
                database, tenant, self.id, wanted,
            )
            .await?,
        ))
    }

    fn missing(&mut self) -> Error {
        self.gone = true;
        Error::not_found(Noun::ManagedObject, self.id)
    }
}

/// Returns whether changes of an object are audited (Y-06).
fn is_smart_rule(object: &ManagedObject) -> bool {
    object.type_.as_deref().is_some_and(|type_| *type_ == *naming().fragment("SmartRule"))
}
