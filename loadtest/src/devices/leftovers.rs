//! `loadtest clean`: removes what runs left on a server because they were killed or lost it.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cli::{Clean, Common};
use crate::devices;
use crate::error::Error;
use crate::protocol::consumer::{NAMES, PATH};
use crate::report;
use crate::target::Target;
use crate::target::pages::{PAGE_SIZE, each_page};

/// The beginning of the types of all devices that runs create. A registered fleet adds the microseconds of its start.
const TYPES: &str = "loadtest_";
/// The beginning of the names of the users of registered fleets.
const USERS: &str = "device_loadtest_";

/// The objects, users and consumers that runs left.
#[derive(Debug, Default)]
struct Leftovers {
    objects: Vec<String>,
    users: Vec<String>,
    consumers: Vec<String>,
}

/// Lists what runs left in the tenant of the user, and removes it if `--yes` is given. Anything younger than
/// `--older-than` may belong to a run that goes on, so it stays.
///
/// # Errors
/// The target does not respond to the user, or something could not be removed.
pub(crate) async fn clean(settings: &Clean, common: &Common) -> Result<bool, Error> {
    let target = Arc::new(common.target_and_server()?.0);
    target.check().await?;
    let tenant = target.tenant().await?;
    let before = OffsetDateTime::now_utc() - settings.older_than();
    let found = Leftovers::of(&target, &tenant, before).await?;
    let counts = [found.objects.len(), found.users.len(), found.consumers.len()];
    let [objects, users, consumers] = counts;
    let what = format!(
        "{objects} objects and {users} users, and {consumers} consumers of load tests at {}, tenant {tenant}",
        target.authority()
    );
    if !settings.yes || counts == [0; 3] {
        let hint = if counts == [0; 3] { "" } else { "; --yes removes them" };
        report::print(&format!("{what}{hint}\n"));
        return Ok(true);
    }
    let user = |name: &String| target.delete(&format!("/user/{tenant}/users/{name}"));
    let users = found.users.iter().map(user).collect();
    let consumers = found.consumers.iter().map(|name| target.delete(&format!("{PATH}/{name}"))).collect();
    let left = devices::send_all(&target, "removing consumers", consumers, 204).await
        + devices::remove(&target, &found.objects).await
        + devices::send_all(&target, "removing users", users, 204).await;
    report::print(&format!("{what}: {left} could not be removed\n"));
    if left == 0 { Ok(true) } else { Err(Error::Refused(format!("{left} could not be removed"))) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Objects {
    managed_objects: Vec<Object>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    id: String,
    creation_time: String,
}

#[derive(Deserialize)]
struct Consumers {
    consumers: Vec<Consumer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Consumer {
    name: String,
    creation_time: String,
}

#[derive(Deserialize)]
struct Users {
    users: Vec<User>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct User {
    user_name: String,
}

impl Leftovers {
    async fn of(target: &Target, tenant: &str, before: OffsetDateTime) -> Result<Self, Error> {
        let mut connection = target.connect().await?;
        let mut found = Self::default();
        let query = format!("/inventory/managedObjects?query=type%20eq%20'{TYPES}*'&pageSize={PAGE_SIZE}");
        each_page(target, &mut connection, query, |body| {
            let page: Objects = serde_json::from_slice(body).map_err(std::io::Error::from)?;
            let old = page.managed_objects.into_iter().filter(|one| is_older(&one.creation_time, before));
            found.objects.extend(old.map(|object| object.id));
            Ok(())
        })
        .await?;
        let users = format!("/user/{tenant}/users?username={USERS}&onlyDevices=true&pageSize={PAGE_SIZE}");
        each_page(target, &mut connection, users, |body| {
            let page: Users = serde_json::from_slice(body).map_err(std::io::Error::from)?;
            let names = page.users.into_iter().map(|user| user.user_name);
            found.users.extend(names.filter(|name| begun(name).is_some_and(|begun| begun < before)));
            Ok(())
        })
        .await?;
        let consumers = format!("{PATH}?pageSize={PAGE_SIZE}");
        each_page(target, &mut connection, consumers, |body| {
            let page: Consumers = serde_json::from_slice(body).map_err(std::io::Error::from)?;
            let own = page.consumers.into_iter().filter(|one| one.name.starts_with(NAMES));
            found
                .consumers
                .extend(own.filter(|one| is_older(&one.creation_time, before)).map(|one| one.name));
            Ok(())
        })
        .await?;
        Ok(found)
    }
}

impl Clean {
    fn older_than(&self) -> Duration {
        Duration::from_secs(self.older_than * 60)
    }
}

fn is_older(time: &str, before: OffsetDateTime) -> bool {
    OffsetDateTime::parse(time, &Rfc3339).is_ok_and(|created| created < before)
}

/// Returns the start of the run that created a user, which is part of its name: `device_loadtest_<microseconds>-<n>`.
fn begun(user: &str) -> Option<OffsetDateTime> {
    let (micros, number) = user.strip_prefix(USERS)?.split_once('-')?;
    number.parse::<u32>().ok()?;
    OffsetDateTime::from_unix_timestamp_nanos(micros.parse::<i128>().ok()?.checked_mul(1000)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_fleets_have_a_start() {
        let known = begun("device_loadtest_1700000000000000-17").unwrap();
        assert_eq!(known.unix_timestamp(), 1_700_000_000);
        for other in
            ["device_loadtest_x-1", "device_loadtest_1", "device_loadtest_1-x", "joe", "loadtest_1-1"]
        {
            assert_eq!(begun(other), None, "{other}");
        }
    }
}
