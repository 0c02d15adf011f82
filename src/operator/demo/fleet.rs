//! A demo from its start to its end.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::wire::Wire;
use super::world::World;
use super::{device, past, people, plan, setup};
use crate::client::failure::Failure;
use crate::open_files::raise_limit;

/// The parameters of a demo: server, administrator, number of devices, seed.
pub(super) struct Assignment {
    pub(super) url: String,
    /// The name and the password of an administrator of the tenant of the demo.
    pub(super) operator: (String, String),
    pub(super) devices: u32,
    pub(super) seed: u64,
}

/// Prepares the tenant, starts all devices, calls `tell`, and runs until `stop` resolves.
///
/// # Errors
/// The server rejects a request of the set-up, or the tenant has been deleted.
pub(super) async fn run(
    assignment: Assignment,
    tell: impl FnOnce() -> io::Result<()>,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let Assignment { url, operator: (user, password), devices, seed } = assignment;
    let world = Arc::new(World::new(url.clone(), seed, plan::fleet(devices as usize)));
    let living = async {
        let mut operator = Wire::of(&url, &user, &password)?;
        setup::prepare(&world, &mut operator).await?;
        // Dropping the set ends all devices.
        let mut lives = JoinSet::new();
        for plan in world.fleet.iter().filter(|plan| plan.parent.is_none()) {
            lives.spawn(device::live(world.clone(), plan.number));
        }
        let historian = Wire::of(&url, &user, &password)?;
        let remembered = world.clone();
        lives.spawn(async move {
            if let Err(failure) = past::tell(remembered.clone(), historian).await {
                remembered.note(&failure);
            }
        });
        tell()?;
        Err(people::work(world.clone(), operator).await)
    };
    tokio::select! {
        ended = living => ended,
        () = stop => Ok(()),
    }
}

/// Raises the limit of open files of this process as far as permitted.
///
/// # Errors
/// The permitted limit is below `needed`.
pub(super) fn open_files(needed: u64) -> Result<(), String> {
    match raise_limit() {
        Some(most) if most < needed => Err(format!(
            "this process may open {most} files, and this number of devices needs {needed}: run `ulimit -n {needed}` \
             before, or choose fewer --devices"
        )),
        _ => Ok(()),
    }
}
