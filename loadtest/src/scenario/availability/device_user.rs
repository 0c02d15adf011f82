//! The user that owns the devices: only messages of a user whose name starts with `device_` are heartbeats
//!

use std::sync::Arc;

use serde_json::json;

use crate::devices::random;
use crate::error::Error;
use crate::target::Target;

const NAME: &str = "device_loadtest";
/// The role that lets it create devices; as their owner it may write their data.
const ROLE: &str = "ROLE_INVENTORY_CREATE";

/// A user that owns all devices of the run.
#[derive(Debug)]
pub(super) struct DeviceUser {
    path: String,
    target: Arc<Target>,
}

impl DeviceUser {
    /// Creates the user, or sets a new password if it exists from another run.
    ///
    /// # Errors
    /// The user of the run may not create users.
    pub(super) async fn create(admin: &Arc<Target>) -> Result<Self, Error> {
        let tenant = admin.tenant().await?;
        let mut connection = admin.connect().await?;
        let (users, path) = (format!("/user/{tenant}/users"), format!("/user/{tenant}/users/{NAME}"));
        let user = format!("{tenant}/{NAME}");
        // The password is long enough that it cannot be guessed, and nobody needs to know it.
        let password = random::text(32);

        let step = "creating the device user";
        let body = json!({"userName": NAME, "password": password}).to_string();
        let mut response = connection.call(step, &admin.post(&users, &body)).await?;
        if response.status == 409 {
            let body = json!({"password": password}).to_string();
            response = connection.call(step, &admin.put(&path, &body)).await?;
        }
        if !matches!(response.status, 200 | 201) {
            return Err(Error::status(step, response.status, response.body));
        }
        let body = json!({"role": {"name": ROLE}}).to_string();
        connection.expect(201, step, &admin.post(&format!("{path}/roles"), &body)).await?;
        Ok(Self { path, target: Arc::new(admin.with_user(&user, &password)) })
    }

    /// Returns the server, accessed as this user.
    pub(super) fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// Removes the user.
    ///
    /// # Errors
    /// The response was not 204.
    pub(super) async fn remove(self, admin: &Target) -> Result<(), Error> {
        let request = admin.delete(&self.path);
        admin.connect().await?.expect(204, "removing the device user", &request).await.map(drop)
    }
}
