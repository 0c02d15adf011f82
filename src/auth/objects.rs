//! Which managed objects a caller reaches: the rule of [`model::access`](platform_actors::model::access), asked at the edge
//! (I-05, I-06, U-12).

use platform_actors::Error;
use platform_actors::model::access::{Api, Authority, Grants, Ownership, Permission};
use platform_actors::model::id::ManagedObjectId;
use platform_actors::model::managed_object::ManagedObject;
use platform_actors::model::reference::{LinkKind, WantedReferences};
use platform_actors::model::role;
use platform_actors::naming::naming;
use platform_actors::store;
use platform_actors::store::access::Source;

use super::Caller;
use crate::http::error::{ApiError, Result};
use crate::http::query::Query;
use crate::server::Edge;

impl Caller {
    /// Lets a caller through whom a role allows it, ownership, or a device permission on the object itself.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound` for an unknown object when no role grants all.
    pub async fn reaches(&self, edge: &Edge, id: ManagedObjectId, authority: &Authority) -> Result<()> {
        let by = (authority, &*self.user, Ownership::Counts);
        let database = edge.platform.database();
        Ok(store::access::authorize(database, &self.tenant, id, by, Source::has_fragment).await?)
    }

    /// As [`Caller::reaches`], for an object that a path names: that it is unknown is told before a body is judged (C-07a).
    ///
    /// # Errors
    /// `Forbidden`; `NotFound` for an unknown object.
    pub async fn finds(&self, edge: &Edge, id: ManagedObjectId, authority: &Authority) -> Result<()> {
        if let Authority::Limited(_) = authority {
            return self.reaches(edge, id, authority).await;
        }
        let (database, wanted) = (edge.platform.database(), WantedReferences::NONE);
        store::managed_objects::get_managed_object(database, &self.tenant, id, wanted).await?;
        Ok(())
    }

    /// Lets a caller through who may read or write something of a managed object, such as one of its alarms: by role, by
    /// ownership where that counts, or by a device permission for a fragment of that thing.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound` for an unknown object when no role grants all.
    pub async fn reaches_data_of(
        &self,
        edge: &Edge,
        source: ManagedObjectId,
        (authority, ownership): (&Authority, Ownership),
        has_fragment: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let by = (authority, &*self.user, ownership);
        let database = edge.platform.database();
        let has_fragment = |_: &Source, name: &str| has_fragment(name);
        Ok(store::access::authorize(database, &self.tenant, source, by, has_fragment).await?)
    }

    /// By what right the caller reads a collection of what devices sent or were told. A role opens all of it. So does ownership of
    /// the object that one of the `sources` names, a parameter: what is of that object and of everything below it by childDevices
    /// is the caller's own (U-10a). Else device permissions open what they name (P-07).
    ///
    /// # Errors
    /// `Forbidden` with none of these; `Unavailable` or `Database`.
    pub async fn reads_collection(
        &self,
        edge: &Edge,
        (role, api): (&str, Api),
        (query, sources): (&Query, &[&str]),
    ) -> Result<Authority> {
        let authority = self.reads(role, api);
        let Authority::Limited(grants) = &authority else { return Ok(authority) };
        // What hangs below by childAssets is not owned with it.
        let asks_for_assets =
            query.with_descendants().is_ok_and(|kinds| kinds.contains(&LinkKind::ChildAssets));
        for source in sources.iter().filter_map(|name| query.get(name)).filter(|_| !asks_for_assets) {
            if let Ok(source) = ManagedObjectId::parse(source)
                && self.owns(edge, source).await?
            {
                return Ok(Authority::Role);
            }
        }
        match grants.is_empty() {
            true => Err(ApiError::forbidden()),
            false => Ok(authority),
        }
    }

    /// Whether an object is the caller's own, or hangs by childDevices below one that is; what there is not is nobody's.
    async fn owns(&self, edge: &Edge, id: ManagedObjectId) -> Result<bool> {
        match self.reaches(edge, id, &Authority::Limited(Grants::default())).await {
            Ok(()) => Ok(true),
            Err(ApiError::Platform(Error::Forbidden | Error::NotFound { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the caller may see an object that was read: one of the above, or because it is global (I-05).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn may_see(&self, edge: &Edge, object: &ManagedObject) -> Result<bool> {
        let Some(id) = object.id else { return Ok(true) };
        if object.fragments.get(&naming().fragment("Global")).is_some() {
            return Ok(true);
        }
        let authority = self.authority(role::INVENTORY_READ, Api::ManagedObject, Permission::Read);
        match self.reaches(edge, id, &authority).await {
            Ok(()) => Ok(true),
            Err(ApiError::Platform(Error::Forbidden | Error::NotFound { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// An object that the caller may see.
    ///
    /// # Errors
    /// `NotFound` for an unknown object, `Forbidden` for one the caller may not see (E-04).
    pub async fn sees(
        &self,
        edge: &Edge,
        id: ManagedObjectId,
        wanted: WantedReferences,
    ) -> Result<ManagedObject> {
        let database = edge.platform.database();
        let object = store::managed_objects::get_managed_object(database, &self.tenant, id, wanted).await?;
        match self.may_see(edge, &object).await? {
            true => Ok(object),
            false => Err(ApiError::forbidden()),
        }
    }
}
