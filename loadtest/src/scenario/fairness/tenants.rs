//! The two tenants of a run, which are created for it and deleted afterwards.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::error::Error;
use crate::target::Target;

const PATH: &str = "/tenant/tenants";
const PASSWORD: &str = "loadtest-secret";
/// The longest time that the deletion of a tenant may take.
const DELETION: Duration = Duration::from_secs(300);

/// The tenants, each with the credentials of its administrator.
pub(super) struct Tenants {
    pub(super) quiet: Arc<Target>,
    pub(super) noisy: Arc<Target>,
    ids: [String; 2],
}

impl Tenants {
    pub(super) async fn create(management: &Target) -> Result<Self, Error> {
        let run = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        let ids = ["quiet", "noisy"].map(|name| format!("{name}-{run}"));
        for id in &ids {
            let body = json!({
                "id": id, "domain": format!("{id}.example.com"), "company": "Load test",
                "adminName": "boss", "adminPass": PASSWORD, "adminEmail": "boss@example.com",
            });
            let request = management.post(PATH, &body.to_string());
            management.connect().await?.expect(201, "creating a tenant", &request).await?;
        }
        let target = |id: &String| Arc::new(management.with_user(&format!("{id}/boss"), PASSWORD));
        Ok(Self { quiet: target(&ids[0]), noisy: target(&ids[1]), ids })
    }

    /// Deletes the tenants with all of their data. Returns whether that succeeded.
    pub(super) async fn remove(&self, management: &Target) -> bool {
        let mut removed = true;
        for id in &self.ids {
            let request = management.delete(&format!("{PATH}/{id}"));
            let step = "deleting a tenant";
            removed &= match management.connect().await {
                Ok(mut connection) => connection
                    .call_within(DELETION, step, &request)
                    .await
                    .is_ok_and(|response| response.status == 204),
                Err(_) => false,
            };
        }
        removed
    }
}

/// Creates an object and returns its id.
pub(super) async fn create(target: &Target, path: &str, body: &serde_json::Value) -> Result<String, Error> {
    target.connect().await?.created("creating an object", &target.post(path, &body.to_string())).await
}
