//! One actor per tenant. It starts devices. It does not forward messages: callers read the registry and ask this actor
//! only when an entry is missing. Sessions start on the threads of their connections
//! ([`starting`](crate::session::starting)).

use std::sync::Arc;

use actix::prelude::*;
use platform_model::id::{ManagedObjectId, TenantId};

use crate::device::{DeviceActor, Devices};
use crate::writes;

/// Starts the actor of a device unless it runs. The reply is its address.
#[derive(Debug, Message)]
#[rtype(result = "Addr<DeviceActor>")]
pub(crate) struct StartDevice {
    pub(crate) id: ManagedObjectId,
}

/// The parent of a tenant's device actors.
pub struct TenantActor {
    devices: Arc<Devices>,
    threads: Vec<(ArbiterHandle, writes::WriteContext)>,
}

impl TenantActor {
    /// Creates the actor. `threads` holds, for each actor thread, its arbiter and the context of its devices.
    pub(crate) fn new(devices: Arc<Devices>, threads: Vec<(ArbiterHandle, writes::WriteContext)>) -> Self {
        Self { devices, threads }
    }
}

impl Actor for TenantActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1024);
    }
}

impl Handler<StartDevice> for TenantActor {
    type Result = MessageResult<StartDevice>;

    fn handle(&mut self, start: StartDevice, _: &mut Self::Context) -> Self::Result {
        let (arbiter, context) = &self.threads[place(start.id, self.threads.len())];
        let (id, context, devices) = (start.id, context.clone(), self.devices.clone());
        MessageResult(self.devices.actors.find(&id).unwrap_or_else(|| {
            let address =
                DeviceActor::start_in_arbiter(arbiter, move |_| DeviceActor::new(id, context, devices));
            self.devices.actors.insert(id, address.clone());
            address
        }))
    }
}

/// Returns the index of the actor thread on which the actors of a tenant live.
pub(crate) fn place_of_tenant(tenant: &TenantId, threads: usize) -> usize {
    let mix = |hash: i64, byte: u8| hash.wrapping_mul(31).wrapping_add(byte.into());
    place(ManagedObjectId(tenant.as_str().bytes().fold(7, mix)), threads)
}

/// Returns the index of the actor thread on which a device lives. Ids begin with a time, so their bits are mixed
/// first.
pub(crate) fn place(id: ManagedObjectId, threads: usize) -> usize {
    ((id.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % threads
}
