//! A module of the run: deployed, undeployed, checked for output, and removed.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::Sending;
use crate::error::Error;
use crate::protocol::bayeux::long_polling::LongPolling;
use crate::protocol::bayeux::{REALTIME, notifications};
use crate::protocol::body::Kind;
use crate::report::Fact;
use crate::target::Target;

const PATH: &str = "/cep/modules";
/// The longest time until a module produces output.
const PROOF: Duration = Duration::from_secs(30);
/// The number of measurements that are sent to make it produce a row.
const PROOF_POSTS: usize = 200;

/// A module that was uploaded.
#[derive(Debug)]
pub(super) struct Deployed {
    target: Arc<Target>,
    id: String,
    name: String,
}

impl Deployed {
    /// Uploads a module, which deploys it. Its name differs from those of earlier runs.
    pub(super) async fn create(target: &Arc<Target>, name: &str, statements: &str) -> Result<Self, Error> {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let name = format!("{name}_{}", since.as_millis());
        let request = target.post_text(PATH, &format!("module {name};\n{statements}"));
        let id = target.connect().await?.created("uploading a module", &request).await?;
        Ok(Self { target: Arc::clone(target), id, name })
    }

    /// Sets the status to `DEPLOYED` or `NOT_DEPLOYED`.
    pub(super) async fn set_status(&self, status: &str) -> Result<(), Error> {
        let body = serde_json::json!({"status": status}).to_string();
        let request = self.target.put(&format!("{PATH}/{}", self.id), &body);
        let step = "changing the status of a module";
        self.target.connect().await?.expect(200, step, &request).await.map(drop)
    }

    /// Returns whether it is still deployed: a module that exceeds its budgets is switched off.
    async fn is_deployed(&self) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct Module {
            status: String,
        }
        let request = self.target.get(&format!("{PATH}/{}", self.id));
        let module: Module = self.target.connect().await?.json(200, "reading a module", &request).await?;
        Ok(module.status == "DEPLOYED")
    }

    /// Sends measurements until the module produces a row, and returns the row.
    pub(super) async fn row(&self, sending: &Sending<'_>) -> Result<Value, Error> {
        let mut session = LongPolling::open(&self.target, REALTIME, &format!("/{}/*", self.name)).await?;
        let mut poster = sending.poster(Kind::Measurement);
        for post in 0..PROOF_POSTS {
            let device = post % sending.ids.len();
            poster.post(device as u32, &sending.ids[device], sending.run.now()).await;
        }
        let row = async {
            loop {
                let rows: Vec<Value> = notifications(session.batch().await?)?;
                match rows.into_iter().next_back() {
                    Some(row) => return Ok(row),
                    None => session.poll_again().await?,
                }
            }
        };
        tokio::time::timeout(PROOF, row).await.map_err(|_| Error::Timeout("a row of the module"))?
    }

    /// Checks after the turns that the module works and is still deployed, and removes it in any case.
    pub(super) async fn end(
        self,
        sending: &Sending<'_>,
        taken: Result<(), Error>,
    ) -> Result<Vec<Fact>, Error> {
        let seen = match &taken {
            Ok(()) => self.row(sending).await.map(|row| row.is_object()),
            Err(_) => Ok(false),
        };
        let removed = self.remove().await;
        taken?;
        let produced = Fact::number("modules that produced a row", usize::from(seen?), 1);
        Ok([produced].into_iter().chain(removed?).collect())
    }

    /// Checks that it is still deployed, and removes it.
    pub(super) async fn remove(self) -> Result<[Fact; 2], Error> {
        let deployed = self.is_deployed().await;
        let mut connection = self.target.connect().await?;
        let request = self.target.delete(&format!("{PATH}/{}", self.id));
        let removed = connection.call("removing a module", &request).await?.status == 204;
        Ok([
            Fact::number("modules still deployed", usize::from(deployed?), 1),
            Fact::number("modules removed", usize::from(removed), 1),
        ])
    }
}
