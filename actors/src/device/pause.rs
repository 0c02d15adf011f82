//! Pausing devices while a bulk run writes for many of them together.

use std::time::Duration;

use actix::prelude::*;
use futures_util::future::join_all;
use platform_model::id::ManagedObjectId;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{DeviceActor, Devices};

/// The time to wait until devices pause; slower devices continue to write.
const PAUSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Prevents a device from writing while a bulk run writes for it and for other devices, so that notifications about
/// the device are sent in the order of the commits.
///
/// Sent by bulk updates of alarms and by bulk operations to devices whose actor is running. The device stays paused
/// until the sender of `resume` is dropped.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Pause {
    /// Signals that the device has no write under way.
    paused: oneshot::Sender<()>,
    /// Closed when the device may continue.
    resume: oneshot::Receiver<()>,
}

impl Handler<Pause> for DeviceActor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, Pause { paused, resume }: Pause, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |_| {
            // If the other side no longer waits, it has dropped the sender of `resume` too.
            if paused.send(()).is_ok() {
                resume.await.ok();
            }
        })
    }
}

/// Devices that stay paused until this guard is dropped.
pub(crate) struct Paused(#[expect(dead_code, reason = "held, not read")] Vec<oneshot::Sender<()>>);

impl Devices {
    /// Pauses the devices whose actors run in this process. Each first completes the write that is under way.
    pub(crate) async fn pause(&self, devices: &[ManagedObjectId]) -> Paused {
        let (mut resumes, mut pausing) = (Vec::new(), Vec::new());
        for device in devices.iter().filter_map(|device| self.actors.find(device)) {
            let ((resume, resumed), (paused, pauses)) = (oneshot::channel(), oneshot::channel());
            device.do_send(Pause { paused, resume: resumed });
            resumes.push(resume);
            pausing.push(pauses);
        }
        // A device that stopped at this moment has no write under way.
        timeout(PAUSE_TIMEOUT, join_all(pausing)).await.ok();
        Paused(resumes)
    }
}
