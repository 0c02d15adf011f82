//! Devices that pause while somebody else writes for many of them together.

use std::time::Duration;

use actix::prelude::*;
use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Context, DeviceActor};
use crate::model::id::ManagedObjectId;

/// How long devices are waited for. One that is slower is not waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// Keeps a device from writing while something of its own is written together with that of others, so that what is told of
/// it is told in the order of the commits.
///
/// Sent by bulk updates of alarms and by bulk operations, to devices whose actor lives. The device stays paused until the
/// other end of `resume` is dropped.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Pause {
    /// Told when the device has nothing under way.
    paused: oneshot::Sender<()>,
    /// Until when it waits.
    resume: oneshot::Receiver<()>,
}

impl Handler<Pause> for DeviceActor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, Pause { paused, resume }: Pause, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |_| {
            // Who no longer waits for it has dropped the other end, too.
            if paused.send(()).is_ok() {
                resume.await.ok();
            }
        })
    }
}

/// Devices that pause until this is dropped.
pub(crate) struct Paused(#[expect(dead_code, reason = "held, not read")] Vec<oneshot::Sender<()>>);

impl Context {
    /// Has the devices pause that live in this process, each after what it has under way.
    pub(crate) async fn pause(&self, devices: &[ManagedObjectId]) -> Paused {
        let (mut resumes, mut pausing) = (Vec::new(), Vec::new());
        for device in devices.iter().filter_map(|device| self.devices.find(device)) {
            let ((resume, resumed), (paused, pauses)) = (oneshot::channel(), oneshot::channel());
            device.do_send(Pause { paused, resume: resumed });
            resumes.push(resume);
            pausing.push(pauses);
        }
        // One that stopped this moment has nothing under way.
        timeout(PATIENCE, join_all(pausing)).await.ok();
        Paused(resumes)
    }
}
