//! The children of a managed object: links that are added and removed (I-03 to I-05).

use std::sync::Arc;

use actix::prelude::*;
use platform_model::devices::managed_object::{ManagedObject, NewManagedObject};
use platform_model::devices::reference::{LinkKind, WantedReferences};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::ManagedObjectId;
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::Publication;
use platform_store::access::SourceObject;
use platform_store::devices::inventory::links::Children;
use platform_store::realtime::publications::Route;

use super::{Cause, Device, DeviceActor};

/// Links existing objects below this one. A link that exists already stays unchanged (I-04).
///
/// Sent by the HTTP layer for `POST /inventory/managedObjects/<id>/childDevices` and its siblings. Publishes UPDATE
/// of this object (B-06), unless the mode is QUIESCENT (M-03).
///
/// # Errors
/// `NotFound` when this object does not exist, `Forbidden` unless the caller may write both ends, `Refused` for a child
/// device that the caller does not own (U-10b), `Invalid` for an unknown child or a cycle; `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub struct AddChildren {
    /// The kind of the links.
    pub kind: LinkKind,
    /// The children.
    pub children: Vec<ManagedObjectId>,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

/// Creates an object below this one, in one transaction. Publishes CREATE of the new object and UPDATE of this one.
///
/// # Errors
/// The errors of [`AddChildren`].
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<ManagedObject>>")]
pub struct CreateChild {
    /// The kind of the link.
    pub kind: LinkKind,
    /// The body of the request.
    pub object: Arc<NewManagedObject>,
    /// The caller, who becomes the owner.
    pub origin: Arc<Origin>,
}

/// Removes the link to a child; both objects stay. Publishes UPDATE of this object.
///
/// # Errors
/// `NotFound` when it is not linked, `Forbidden` unless the caller may write one of the ends.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub struct RemoveChild {
    /// The kind of the link.
    pub kind: LinkKind,
    /// The child.
    pub child: ManagedObjectId,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

impl Handler<AddChildren> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: AddChildren, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.add_children(message).await)
    }
}

impl Handler<CreateChild> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<ManagedObject>>>;

    fn handle(&mut self, message: CreateChild, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.create_child(message).await)
    }
}

impl Handler<RemoveChild> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: RemoveChild, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.remove_child(message).await)
    }
}

impl Device {
    async fn add_children(&mut self, message: AddChildren) -> Result<()> {
        let AddChildren { kind, children, origin } = message;
        self.authorize(&origin, SourceObject::has_fragment).await?;
        for child in &children {
            self.authorize_link(kind, *child, &origin).await?;
        }

        if !origin.mode.stores() {
            return self.publish_unstored_links(&origin).await;
        }
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        database.ensure_stored_quota(tenant)?;
        let to = Children { parent: self.id, kind };
        let route =
            platform_store::devices::inventory::links::add_children(database, tenant, to, &children, &origin)
                .await?;
        self.deliver_links_changed(&route);
        self.deliver_update(&route, &origin).await
    }

    /// Checks that the caller may link an existing object below this one.
    ///
    /// A link of kind childDevices gives the child to the owner of the parent (I-06), so it requires what giving
    /// requires: ROLE_INVENTORY_ADMIN or ownership of the child. A device permission is not sufficient (U-10b).
    async fn authorize_link(&self, kind: LinkKind, child: ManagedObjectId, origin: &Origin) -> Result<()> {
        if !self.may_write(child, origin).await? {
            return Err(Error::Forbidden);
        }
        if kind == LinkKind::ChildDevices && !self.owns(child, origin).await? {
            return Err(Error::Refused(
                "linking a child device requires ROLE_INVENTORY_ADMIN or ownership of the child, because the owner of \
                 the parent gets all rights on it",
            ));
        }
        Ok(())
    }

    async fn create_child(&mut self, message: CreateChild) -> Result<Arc<ManagedObject>> {
        let CreateChild { kind, object, origin } = message;
        self.authorize(&origin, SourceObject::has_fragment).await?;
        let id = ManagedObjectId(self.context.ids.next()?);
        // In mode QUIESCENT the creation is published and the change of the parent's references is not (M-03).
        let cause = Cause::of(&origin).notifying();
        if !origin.mode.stores() {
            let child = Arc::new(object.created(None, &origin.user));
            self.context.publish(id, PublishedChange::ManagedObjectCreated(child.clone()), cause);
            self.publish_unstored_links(&origin).await?;
            return Ok(child);
        }

        let mut child = [object.created(Some(id), &origin.user)];
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        database.ensure_stored_quota(tenant)?;
        database.recount_devices(tenant, &child[0].fragments).await;
        database.ensure_device_quota(tenant, &child[0].fragments)?;
        let to = Children { parent: self.id, kind };
        let route =
            platform_store::devices::inventory::links::insert_child(database, tenant, to, &child[0], &origin)
                .await?;
        self.deliver_links_changed(&route);
        let wanted = WantedReferences::default();
        platform_store::devices::inventory::links::add_references(database, tenant, &mut child, wanted)
            .await?;
        let [child] = child.map(Arc::new);
        if route.is_by_caller() {
            let change = PublishedChange::ManagedObjectCreated(child.clone());
            let publication = Publication::Change { source: id, change, cause };
            self.context.deliver(publication, route.transaction());
        }
        self.deliver_update(&route, &origin).await?;
        Ok(child)
    }

    async fn remove_child(&mut self, message: RemoveChild) -> Result<()> {
        let RemoveChild { kind, child, origin } = message;
        match self.authorize(&origin, SourceObject::has_fragment).await {
            Err(Error::Forbidden) if self.may_write(child, &origin).await? => {}
            other => drop(other?),
        }
        if !origin.mode.stores() {
            return self.publish_unstored_links(&origin).await;
        }

        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let from = Children { parent: self.id, kind };
        let removed =
            platform_store::devices::inventory::links::remove_child(database, tenant, from, child, &origin)
                .await?;

        let route = removed.ok_or_else(|| Error::not_found(Noun::Link, child))?;
        self.deliver_links_changed(&route);
        self.deliver_update(&route, &origin).await
    }

    /// Publishes UPDATE of this object for a change of its links that is not stored.
    async fn publish_unstored_links(&mut self, origin: &Origin) -> Result<()> {
        if self.context.has_receivers_for_changed_objects(&Cause::of(origin)) {
            let object = self.current_object().await?;
            self.publish(PublishedChange::ManagedObjectUpdated(object), origin);
        }
        self.context.published().await
    }

    /// Notifies the hub that objects belong to other families (B-19b), unless the database has sent it.
    fn deliver_links_changed(&self, route: &Route) {
        if route.is_by_caller() {
            self.context.deliver(Publication::LinksChanged, route.transaction());
        }
    }

    /// Delivers that the references of this object changed, unless the database has sent it, and if anyone would
    /// receive it.
    async fn deliver_update(&mut self, route: &Route, origin: &Origin) -> Result<()> {
        let cause = Cause::of(origin);
        if route.is_by_caller() && self.context.has_receivers_here(&cause) {
            let change = PublishedChange::ManagedObjectUpdated(self.current_object().await?);
            let publication = Publication::Change { source: self.id, change, cause };
            self.context.deliver(publication, route.transaction());
        }
        Ok(())
    }
}
