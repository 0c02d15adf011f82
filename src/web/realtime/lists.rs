//! The lists with which subscriptions begin (B-36), read by the code of GET of the same lists.

use platform_actors::Platform;
use platform_model::access::Authority;
use platform_model::error::Error;
use platform_model::id::ManagedObjectId;
use platform_model::links::{Linked, Links, encode};
use platform_model::page::{Page, PageRequest};
use platform_model::realtime::bayeux::{SnapshotList, SnapshotRequest};
use platform_store::Database;
use serde::Serialize;

use crate::api::{alarms, events, inventory, operations};
use crate::auth::Caller;
use crate::http::error::Result;
use crate::http::paging::page_request;
use crate::http::query::Query;

/// A list, as a caller may read it.
pub(super) struct ListQuery {
    list: SnapshotList,
    query: Query,
    page: PageRequest,
    authority: Authority,
}

/// The content of a list.
pub(super) struct ListContent {
    /// The objects, each as JSON.
    pub(super) objects: Vec<Vec<u8>>,
    /// Whether there are no further objects.
    pub(super) is_complete: bool,
}

impl ListQuery {
    /// Reads which list is requested, and checks that the caller may read it. The list of the channel of an object has
    /// only what belongs to this object.
    ///
    /// # Errors
    /// 403 and 422 as in a GET of the list; 422 if the query asks for other objects than that of the channel;
    /// `Unavailable` or `Database`.
    pub(super) async fn of(caller: &Caller, platform: &Platform, request: &SnapshotRequest) -> Result<Self> {
        let list = request.list;
        let mut query = Query::parse(&request.query);
        if let Some(object) = request.object() {
            restrict(&mut query, request, object)?;
        }
        let authority = match list {
            SnapshotList::Alarms => alarms::authority(caller, platform, &query).await,
            SnapshotList::Events => events::authority(caller, platform, &query).await,
            SnapshotList::Operations => operations::authority(caller, platform, &query).await,
            SnapshotList::ManagedObjects => Ok(inventory::authority(caller)),
        }?;
        let page = page_request(&query)?;
        Ok(Self { list, query, page, authority })
    }

    /// Reads the list from a database, with links of this address.
    ///
    /// # Errors
    /// 422 for an invalid parameter, 413 when the query takes too long; `Unavailable` or `Database`.
    pub(super) async fn read(
        &self,
        caller: &Caller,
        database: &Database,
        links: &Links,
    ) -> Result<ListContent> {
        let Self { list, query, page, authority } = self;
        Ok(match list {
            SnapshotList::Alarms => {
                self.content(alarms::page(caller, database, query, page, authority).await?, links)
            }
            SnapshotList::Events => {
                self.content(events::page(caller, database, query, page, authority).await?, links)
            }
            SnapshotList::Operations => {
                self.content(operations::page(caller, database, query, page, authority).await?, links)
            }
            SnapshotList::ManagedObjects => {
                self.content(inventory::page(caller, database, query, page, authority).await?, links)
            }
        })
    }

    fn content<T>(&self, page: Page<T>, links: &Links) -> ListContent
    where
        for<'a> Linked<'a, T>: Serialize,
    {
        let objects = page.members.iter().map(|object| encode(object, links)).collect();
        ListContent { objects, is_complete: page.next.is_none() && self.page.current == 1 }
    }
}

/// Restricts a query to the object of a channel.
///
/// # Errors
/// 422 if it asks for other objects.
fn restrict(query: &mut Query, request: &SnapshotRequest, object: ManagedObjectId) -> Result<()> {
    let (name, id) = (request.list.object_parameter(), object.to_string());
    let channel = &request.pattern;
    if let Some((_, other)) = query.pairs().find(|(given, value)| *given == name && *value != id) {
        let allowed = format!("{id}, the object of the channel '{channel}', or no '{name}'");
        return Err(Error::invalid_value(name, other, &allowed).into());
    }
    if query.get(name).is_none() {
        query.add(name, id);
    }
    if !query.with_descendants()?.is_empty() {
        let fault =
            format!("The channel '{channel}' has no changes of other objects, so its list cannot have them");
        return Err(Error::Invalid(fault).into());
    }
    Ok(())
}
