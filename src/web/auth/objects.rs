//! Authorization for managed objects, before a handler reads or writes: the rule of
//! [`model::access`](platform_model::access) (I-05, I-06, U-12).

use platform_actors::Platform;
use platform_model::access::{Accessor, Api, Authority, Grants, Ownership, Permission};
use platform_model::devices::managed_object::ManagedObject;
use platform_model::devices::reference::{LinkKind, WantedReferences};
use platform_model::error::Error;
use platform_model::id::ManagedObjectId;
use platform_model::naming::naming;
use platform_model::role;
use platform_store::access::SourceObject;

use super::Caller;
use crate::http::error::{ApiError, Result};
use crate::http::query::Query;

impl Caller {
    /// Checks that a role, ownership or a device permission for the object itself admits the caller.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound` for an unknown object, unless the role admits the caller.
    pub async fn reaches(
        &self,
        platform: &Platform,
        id: ManagedObjectId,
        authority: &Authority,
    ) -> Result<()> {
        let accessor = Accessor { authority, user: &self.user, ownership: Ownership::Counts };
        let database = platform.database();
        Ok(platform_store::access::authorize(
            database,
            &self.tenant,
            id,
            accessor,
            SourceObject::has_fragment,
        )
        .await?)
    }

    /// Checks as [`Caller::reaches`] does, and that the object exists, so that an unknown object in a path is
    /// reported before the body is checked (C-07a).
    ///
    /// # Errors
    /// `Forbidden`; `NotFound` for an unknown object.
    pub async fn finds(&self, platform: &Platform, id: ManagedObjectId, authority: &Authority) -> Result<()> {
        if let Authority::Limited(_) = authority {
            return self.reaches(platform, id, authority).await;
        }
        let (database, wanted) = (platform.database(), WantedReferences::NONE);
        platform_store::devices::inventory::managed_objects::get_managed_object(
            database,
            &self.tenant,
            id,
            wanted,
        )
        .await?;
        Ok(())
    }

    /// Checks that the caller may read or write data of a managed object, such as one of its alarms: by role,
    /// by ownership, or by a device permission for a fragment of that data.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound` for an unknown object, unless the role admits the caller.
    pub async fn reaches_data_of(
        &self,
        platform: &Platform,
        source: ManagedObjectId,
        authority: &Authority,
        has_fragment: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let accessor = Accessor { authority, user: &self.user, ownership: Ownership::Counts };
        let database = platform.database();
        let has_fragment = |_: &SourceObject, name: &str| has_fragment(name);
        Ok(platform_store::access::authorize(database, &self.tenant, source, accessor, has_fragment).await?)
    }

    /// Returns the authority by which the caller reads a collection of alarms, events, measurements or
    /// operations. A role covers all of it. So does ownership of the object in one of the parameters
    /// `sources`: the data of that object and of everything below it by childDevices is the caller's own
    /// (U-10a). Otherwise device permissions cover what they name (P-07).
    ///
    /// # Errors
    /// `Forbidden` without any of these; `Unavailable` or `Database`.
    pub async fn reads_collection(
        &self,
        platform: &Platform,
        role: &str,
        api: Api,
        query: &Query,
        sources: &[&str],
    ) -> Result<Authority> {
        let authority = self.reads(role, api);
        let Authority::Limited(grants) = &authority else { return Ok(authority) };
        // Ownership does not extend to objects below by childAssets.
        let asks_for_assets =
            query.with_descendants().is_ok_and(|kinds| kinds.contains(&LinkKind::ChildAssets));
        for source in sources.iter().filter_map(|name| query.get(name)).filter(|_| !asks_for_assets) {
            if let Ok(source) = ManagedObjectId::parse(source)
                && self.owns(platform, source).await?
            {
                return Ok(Authority::Role);
            }
        }
        if grants.is_empty() { Err(ApiError::forbidden()) } else { Ok(authority) }
    }

    /// Returns whether the caller owns an object or one above it by childDevices. An unknown object has no owner.
    async fn owns(&self, platform: &Platform, id: ManagedObjectId) -> Result<bool> {
        match self.reaches(platform, id, &Authority::Limited(Grants::default())).await {
            Ok(()) => Ok(true),
            Err(ApiError::Platform(Error::Forbidden | Error::NotFound { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the caller may see an object: by role, ownership or a device permission, or because
    /// the object is global (I-05).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn may_see(&self, platform: &Platform, object: &ManagedObject) -> Result<bool> {
        let Some(id) = object.id else { return Ok(true) };
        if object.fragments.get(&naming().fragment("Global")).is_some() {
            return Ok(true);
        }
        let authority = self.authority(role::INVENTORY_READ, Api::ManagedObject, Permission::Read);
        match self.reaches(platform, id, &authority).await {
            Ok(()) => Ok(true),
            Err(ApiError::Platform(Error::Forbidden | Error::NotFound { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns an object that the caller may see.
    ///
    /// # Errors
    /// `NotFound` for an unknown object, `Forbidden` for one the caller may not see (E-04).
    pub async fn sees(
        &self,
        platform: &Platform,
        id: ManagedObjectId,
        wanted: WantedReferences,
    ) -> Result<ManagedObject> {
        let database = platform.database();
        let object = platform_store::devices::inventory::managed_objects::get_managed_object(
            database,
            &self.tenant,
            id,
            wanted,
        )
        .await?;
        if self.may_see(platform, &object).await? { Ok(object) } else { Err(ApiError::forbidden()) }
    }
}
