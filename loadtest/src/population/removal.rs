//! Removes what a run created.

use std::sync::Arc;

use super::consumers::ConsumerSet;
use super::servers::Servers;
use super::shared::Shared;
use super::world::World;
use crate::cli::Common;
use crate::error::Error;
use crate::target::Target;

/// Removes the consumers, and then what was created before them, as [`given_up`] does.
pub(super) async fn without_consumers(
    error: Error,
    consumers: ConsumerSet,
    shared: &Shared,
    creator: &Arc<Target>,
    common: &Common,
) -> Error {
    if !common.keep {
        consumers.remove(shared).await;
    }
    given_up(error, &shared.world, creator, common).await
}

/// Removes everything that the run created, unless `--keep` is set. The devices in a private database stay in its
/// directory. Returns how many were removed and how many could not be removed.
pub(super) async fn removed(
    shared: &Shared,
    consumers: ConsumerSet,
    creator: &Arc<Target>,
    common: &Common,
    servers: Option<&Servers>,
) -> (usize, usize) {
    if common.keep {
        return (0, 0);
    }
    let of_consumers = consumers.remove(shared).await;
    if servers.is_some_and(Servers::is_private) {
        return of_consumers;
    }
    let of_world = shared.world.remove(creator).await;
    (of_consumers.0 + of_world.0, of_consumers.1 + of_world.1)
}

/// Removes what a preparation created before it failed, and returns the error with what is left.
pub(super) async fn given_up(error: Error, world: &World, creator: &Arc<Target>, common: &Common) -> Error {
    if common.keep {
        return error;
    }
    let (removed, left) = world.remove(creator).await;
    Error::Refused(format!(
        "{error}; {removed} devices, users or tenants removed, {left} could not be removed"
    ))
}
