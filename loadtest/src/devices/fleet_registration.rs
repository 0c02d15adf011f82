//! A fleet that is registered by one CSV file: devices with their own users (docs/rules.md#bulk-registration;
//! N-10 to N-17).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use crate::devices;
use crate::devices::random;
use crate::error::Error;
use crate::target::Target;
use crate::target::pages::{PAGE_SIZE, each_page};

const PATH: &str = "/devicecontrol/bulkNewDeviceRequests";
/// The name of the form's part that holds the file.
const PART: &str = "file";
/// The longest time the server may take for a file.
const UPLOAD_LIMIT: Duration = Duration::from_secs(1800);
/// The number of characters of a password, as many as generated ones have (N-08).
const PASSWORD_LENGTH: usize = 20;
/// The most times that an interrupted registration is looked for, and the time between two of them.
const REMOVALS: usize = 20;
const REMOVAL_PAUSE: Duration = Duration::from_millis(200);
/// The number of failures that are described in words.
const EXAMPLES: usize = 3;

/// The content of the rows beside identity and password.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// The number of devices.
    pub(crate) devices: usize,
    /// The number of agents; the first devices are agents.
    pub(crate) agents: usize,
    /// The name of the group that contains them.
    pub(crate) group: Option<&'a str>,
}

/// The devices of one run, each with its own identity and password.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    /// A type that is unique to the run.
    type_: String,
    tenant: String,
    passwords: Vec<String>,
}

/// The response to the file.
#[derive(Debug)]
pub(crate) struct Upload {
    /// The time from the first byte sent to the last byte of the response.
    pub(crate) took: Duration,
    /// The counts.
    pub(crate) result: UploadResult,
}

/// The response to the file (N-13, N-15).
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UploadResult {
    /// The rows without the header.
    pub(crate) number_of_all: usize,
    /// The new devices.
    pub(crate) number_of_created: usize,
    /// The rows that failed.
    pub(crate) number_of_failed: usize,
    /// The new devices, and those that got another password.
    pub(crate) number_of_successful: usize,
    #[serde(default)]
    failed_creation_list: Vec<Failure>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    failure_reason: Option<String>,
}

impl UploadResult {
    /// Returns the first reasons why rows failed.
    pub(crate) fn reasons(&self) -> String {
        let reasons =
            self.failed_creation_list.iter().filter_map(|failure| failure.failure_reason.as_deref());
        reasons.take(EXAMPLES).collect::<Vec<_>>().join("; ")
    }
}

impl Fleet {
    /// Creates a fleet of the tenant of the target's user; nothing is registered yet.
    ///
    /// # Errors
    /// The tenant cannot be determined.
    pub(crate) async fn new(target: &Target, devices: usize) -> Result<Self, Error> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            type_: format!("loadtest_{}", clock.as_micros()),
            tenant: target.tenant().await?,
            passwords: (0..devices).map(|_| random::text(PASSWORD_LENGTH)).collect(),
        })
    }

    /// Registers the devices of a run.
    ///
    /// # Errors
    /// A row failed.
    pub(crate) async fn register(target: &Target, rows: Rows<'_>) -> Result<Self, Error> {
        let fleet = Self::new(target, rows.devices).await?;
        fleet.register_all(target, rows).await?;
        Ok(fleet)
    }

    /// Registers all devices of the fleet.
    ///
    /// # Errors
    /// A row failed.
    pub(crate) async fn register_all(&self, target: &Target, rows: Rows<'_>) -> Result<(), Error> {
        let Upload { result, .. } = self.upload(target, rows).await?;
        if result.number_of_created == rows.devices {
            Ok(())
        } else {
            Err(Error::Refused(format!(
                "registering devices: {} of {} made: {}",
                result.number_of_created,
                rows.devices,
                result.reasons()
            )))
        }
    }

    /// Sends the file.
    ///
    /// # Errors
    /// The response was not 201.
    pub(crate) async fn upload(&self, target: &Target, rows: Rows<'_>) -> Result<Upload, Error> {
        let step = "registering devices";
        let request = target.post_file(PATH, PART, &self.file(rows));
        let mut connection = target.connect().await?;
        let sent = Instant::now();
        let response = connection.call_within(UPLOAD_LIMIT, step, &request).await?;
        let took = sent.elapsed();
        Ok(Upload { took, result: response.json(201, step)? })
    }

    /// Returns the number of devices.
    pub(crate) fn len(&self) -> usize {
        self.passwords.len()
    }

    fn file(&self, rows: Rows<'_>) -> String {
        let mut file = String::with_capacity(100 * self.passwords.len());
        file.push_str("ID;CREDENTIALS;TYPE;NAME");
        // A column that no device uses would be parsed in each row.
        if rows.agents > 0 {
            file.push_str(";com_platform_model_Agent");
        }
        file.push_str(if rows.group.is_some() { ";PATH\n" } else { "\n" });
        for (device, password) in self.passwords.iter().enumerate() {
            let serial = self.serial(device);
            write!(file, "{serial};{password};{};{serial}", self.type_).ok();
            if rows.agents > 0 {
                file.push_str(if device < rows.agents { ";1" } else { ";" });
            }
            if let Some(group) = rows.group {
                write!(file, ";{group}").ok();
            }
            file.push('\n');
        }
        file
    }

    /// Returns a name that is unique to the run; serials start with it.
    pub(crate) fn name(&self) -> &str {
        &self.type_
    }

    /// Returns the external id of a device, which is also its name.
    pub(crate) fn serial(&self, device: usize) -> String {
        format!("{}-{device}", self.type_)
    }

    /// Returns the server, accessed as a device.
    pub(crate) fn target(&self, admin: &Target, device: usize) -> Target {
        let (user, password) = self.login(device);
        admin.with_user(&user, &password)
    }

    /// Returns the user and the password of a device.
    pub(crate) fn login(&self, device: usize) -> (String, String) {
        (format!("{}/{}", self.tenant, self.user(device)), self.passwords[device].clone())
    }

    fn user(&self, device: usize) -> String {
        format!("device_{}", self.serial(device))
    }

    /// Returns the managed objects of the devices, in order.
    ///
    /// # Errors
    /// The inventory lacks one of them.
    pub(crate) async fn ids(&self, target: &Target) -> Result<Vec<String>, Error> {
        let mut ids = self.listed(target).await?;
        let missing = |serial: String| Error::Refused(format!("no device {serial} in the inventory"));
        let serials = (0..self.passwords.len()).map(|device| self.serial(device));
        let ids: Vec<String> = serials
            .map(|serial| ids.remove(&serial).ok_or_else(|| missing(serial)))
            .collect::<Result<_, _>>()?;
        devices::note_created(target, &ids);
        Ok(ids)
    }

    /// Returns the managed objects of the devices that exist, by name.
    async fn listed(&self, target: &Target) -> Result<HashMap<String, String>, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Page {
            managed_objects: Vec<Object>,
        }
        #[derive(Deserialize)]
        struct Object {
            id: String,
            name: String,
        }
        let mut connection = target.connect().await?;
        let first = format!("/inventory/managedObjects?type={}&pageSize={PAGE_SIZE}", self.type_);
        let mut ids = HashMap::with_capacity(self.passwords.len());
        each_page(target, &mut connection, first, |body| {
            let page: Page = serde_json::from_slice(body).map_err(std::io::Error::from)?;
            ids.extend(page.managed_objects.into_iter().map(|object| (object.name, object.id)));
            Ok(())
        })
        .await?;
        Ok(ids)
    }

    /// Removes what exists of the fleet, also if its registration was interrupted: devices, and users of devices.
    /// Returns
    /// how many were removed and how many devices are left.
    pub(crate) async fn remove_found(&self, target: &Arc<Target>) -> (usize, usize) {
        let mut removed = 0;
        // The server ends an interrupted registration at its next row, so one more device or user may follow.
        for _ in 0..REMOVALS {
            let Ok(found) = self.listed(target).await else { return (removed, self.len()) };
            let ids: Vec<String> = found.into_values().collect();
            let step = "removing their users";
            let users = self.len() - devices::send_all(target, step, self.user_removals(target), 204).await;
            removed += ids.len() - devices::remove(target, &ids).await + users;
            if ids.is_empty() && users == 0 {
                break;
            }
            tokio::time::sleep(REMOVAL_PAUSE).await;
        }
        let left = self.listed(target).await.map_or(self.len(), |found| found.len());
        (removed, left)
    }

    fn user_removals(&self, target: &Target) -> Vec<Vec<u8>> {
        let user = |device| format!("/user/{}/users/{}", self.tenant, self.user(device));
        (0..self.passwords.len()).map(|device| target.delete(&user(device))).collect()
    }

    /// Removes the devices with these ids, and their users; returns how many of both are left.
    pub(crate) async fn remove(&self, target: &Arc<Target>, ids: &[String]) -> usize {
        let left = devices::remove(target, ids).await;
        left + devices::send_all(target, "removing their users", self.user_removals(target), 204).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet() -> Fleet {
        let passwords = ["a".repeat(20), "b".repeat(20)].into();
        Fleet { type_: "loadtest_7".into(), tenant: "main".into(), passwords }
    }

    #[test]
    fn file_has_the_requested_columns_and_a_row_for_each_device() {
        let rows = Rows { devices: 2, agents: 1, group: Some("hall 1") };
        assert_eq!(
            fleet().file(rows),
            "ID;CREDENTIALS;TYPE;NAME;com_platform_model_Agent;PATH\n\
             loadtest_7-0;aaaaaaaaaaaaaaaaaaaa;loadtest_7;loadtest_7-0;1;hall 1\n\
             loadtest_7-1;bbbbbbbbbbbbbbbbbbbb;loadtest_7;loadtest_7-1;;hall 1\n"
        );
        let file = fleet().file(Rows { devices: 2, agents: 0, group: None });
        assert!(file.starts_with("ID;CREDENTIALS;TYPE;NAME\nloadtest_7-0;"), "{file}");
        assert!(file.lines().all(|line| line.split(';').count() == 4), "{file}");
    }

    #[test]
    fn counts_and_reasons_are_read() {
        let text = r#"{"numberOfAll":3,"numberOfCreated":1,"numberOfFailed":1,"numberOfSuccessful":2,
            "credentialUpdatedList":[{"bulkNewDeviceStatus":"CREDENTIAL_UPDATED","deviceId":"x"}],
            "failedCreationList":[{"bulkNewDeviceStatus":"FAILED","failureReason":"empty ID","line":"..."}]}"#;
        let result: UploadResult = serde_json::from_str(text).unwrap();
        assert_eq!((result.number_of_all, result.number_of_successful), (3, 2));
        assert_eq!(result.reasons(), "empty ID");
    }
}
