//! The manifest of an application: the file `platform.json` of an uploaded archive (W-03), or the one with the name of
//! the configured vendor (G-09a).
//!
//! Unknown members are kept with the text and have no effect. A known member with an invalid type or value rejects the
//! upload.

mod members;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::value::RawValue;

use crate::applications::application::{Application, ApplicationType, is_segment};
use crate::body::without_mark;
use crate::error::{Error, Result};
use crate::naming::{Naming, spellings};
use members::ManifestMembers;

/// The name of the manifest in an archive, which a configured vendor may spell otherwise; see [`files`].
pub const FILE: &str = "platform.json";
/// The maximum number of bytes of a manifest.
pub const MAX_BYTES: usize = 256 << 10;
/// The maximum number of characters of a name, a version and other short texts.
const MAX_NAME: usize = 256;
/// The maximum number of characters of a context path (W-04).
const MAX_CONTEXT_PATH: usize = 255;
/// The maximum number of settings of one application.
const MAX_SETTINGS: usize = 256;
/// The maximum number of bytes of the default of a setting.
const MAX_DEFAULT: usize = 64 << 10;
/// The maximum number of bytes of the path of a probe.
const MAX_PATH: usize = 1024;

/// The manifest of an application.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The version of the format.
    pub api_version: Option<String>,
    /// The name that the developers gave the application.
    pub name: Option<String>,
    /// The context path of a microservice, without a slash.
    pub context_path: Option<String>,
    /// The version of the application.
    pub version: Option<String>,
    /// The provider of the application.
    pub provider: Option<Box<RawValue>>,
    /// Whether one instance serves all its subscribers.
    pub isolation: Isolation,
    /// Whether there may be several instances; it is information for the operator.
    pub scale: Option<String>,
    /// The resources that it may use at most; they are information for the operator.
    pub resources: Option<Box<RawValue>>,
    /// The resources that it needs at least; they are information for the operator.
    pub requested_resources: Option<Box<RawValue>>,
    /// The roles of its service users (W-11). An absent member changes nothing.
    pub required_roles: Option<Vec<String>>,
    /// The roles it defines (U-03).
    pub roles: Option<Vec<String>>,
    /// The settings that its subscribers may change (W-12).
    pub settings: Vec<Setting>,
    /// The category of tenant options that holds the settings.
    pub settings_category: Option<String>,
    /// The probe that shows whether the microservice runs.
    pub liveness_probe: Option<Probe>,
    /// The probe that shows whether the microservice can take requests.
    pub readiness_probe: Option<Probe>,
    /// The billing mode.
    pub billing_mode: Option<String>,
    /// The text as it was uploaded.
    pub text: Box<RawValue>,
}

/// The isolation of a microservice's subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// One instance serves all subscribers.
    #[default]
    MultiTenant,
    /// Each subscriber has an instance.
    PerTenant,
}

impl Isolation {
    /// Returns the word of the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MultiTenant => "MULTI_TENANT",
            Self::PerTenant => "PER_TENANT",
        }
    }
}

/// A setting that subscribers may change (W-12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The key of the tenant option.
    pub key: String,
    /// The value of a tenant that did not set the option.
    pub default_value: Option<String>,
    /// Whether a subscriber's own value is used; otherwise the owner's is.
    pub editable: bool,
}

/// An HTTP request that shows whether a microservice is healthy. The operator sets its host and port, never the
/// archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The target: an absolute path, optionally with a query, below the address of the service.
    pub path: String,
    /// The time after its start in which a service is not probed.
    pub initial_delay: Duration,
    /// The time between two probes.
    pub period: Duration,
    /// The timeout of a probe.
    pub timeout: Duration,
    /// The number of consecutive successes after which the service is healthy.
    pub success_threshold: u32,
    /// The number of consecutive failures after which the service is unhealthy.
    pub failure_threshold: u32,
}

/// Returns the names that a manifest may have in an archive: [`FILE`], and the vendor's if names are configured
/// (G-09a). If an archive contains both, the first one is its manifest.
pub fn files() -> Vec<String> {
    let mut files = spellings(Naming::manifest_file).to_vec();
    files.dedup();
    files
}

impl Manifest {
    /// Parses the bytes of a manifest, which errors call `file`.
    ///
    /// # Errors
    /// `Invalid` names the member, its value and what is allowed, or the position where the text is not a JSON object.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_BYTES {
            return Err(Error::invalid_value(
                file,
                format!("{} bytes", bytes.len()),
                &format!("at most {MAX_BYTES} bytes"),
            ));
        }
        let bytes = without_mark(bytes);
        let mut members = ManifestMembers::parse(file, bytes)?;
        let text = String::from_utf8_lossy(bytes).trim().to_owned();
        let text = RawValue::from_string(text).map_err(|e| Error::Invalid(format!("Invalid {file}: {e}")))?;
        Ok(Self {
            api_version: members.short("apiVersion", MAX_NAME)?,
            name: members.short("name", MAX_NAME)?,
            context_path: context_path(&mut members)?,
            version: members.short("version", MAX_NAME)?,
            provider: members.take_any("provider", &['"', '{'], "a string or an object")?,
            isolation: isolation(&mut members)?,
            scale: members.short("scale", MAX_NAME)?,
            resources: members.take_any("resources", &['{'], "an object")?,
            requested_resources: members.take_any("requestedResources", &['{'], "an object")?,
            required_roles: members.roles("requiredRoles")?,
            roles: members.roles("roles")?,
            settings: settings(&mut members)?,
            settings_category: members.short("settingsCategory", MAX_NAME)?,
            liveness_probe: probe(&mut members, "livenessProbe")?,
            readiness_probe: probe(&mut members, "readinessProbe")?,
            billing_mode: members.short("billingMode", MAX_NAME)?,
            text,
        })
    }

    /// Returns the manifest of an application, if its archive has one.
    ///
    /// # Errors
    /// `Invalid` for a manifest that was stored before its rules became stricter.
    pub fn of(application: &Application) -> Result<Option<Self>> {
        application.manifest.as_ref().map(|text| Self::parse(FILE, text.get().as_bytes())).transpose()
    }

    /// Returns the context path of an application with this name, if its archive determines it: for a microservice the
    /// path of its manifest, else its name (W-04).
    pub fn served_at<'a>(&'a self, kind: ApplicationType, name: &'a str) -> Option<&'a str> {
        (kind == ApplicationType::Microservice).then(|| self.context_path.as_deref().unwrap_or(name))
    }
}

fn context_path(members: &mut ManifestMembers) -> Result<Option<String>> {
    let Some(given) = members.short("contextPath", MAX_CONTEXT_PATH + 1)? else { return Ok(None) };
    let path = given.strip_prefix('/').unwrap_or(&given);
    if path.len() <= MAX_CONTEXT_PATH && is_segment(path) {
        Ok(Some(path.to_owned()))
    } else {
        let allowed = format!("1 to {MAX_CONTEXT_PATH} of a-z, A-Z, 0-9, '-', '_', '.', not '.' or '..'");
        Err(members.invalid("contextPath", &given, &allowed))
    }
}

fn isolation(members: &mut ManifestMembers) -> Result<Isolation> {
    let Some(word) = members.short("isolation", MAX_NAME)? else { return Ok(Isolation::default()) };
    match &*word {
        "MULTI_TENANT" => Ok(Isolation::MultiTenant),
        "PER_TENANT" => Ok(Isolation::PerTenant),
        _ => Err(members.invalid("isolation", &word, "MULTI_TENANT, PER_TENANT")),
    }
}

fn settings(members: &mut ManifestMembers) -> Result<Vec<Setting>> {
    let mut settings: Vec<Setting> = Vec::new();
    for mut one in members.objects("settings", MAX_SETTINGS)? {
        let Some(key) = one.short("key", MAX_NAME)? else {
            return Err(one.invalid("key", "nothing", &format!("1 to {MAX_NAME} characters")));
        };
        if settings.iter().any(|other| other.key == key) {
            return Err(one.invalid("key", &key, "each key once"));
        }
        let default_value = one.text("defaultValue", MAX_DEFAULT)?;
        settings.push(Setting { key, default_value, editable: one.flag("editable")?.unwrap_or(false) });
    }
    Ok(settings)
}

/// Parses a probe. A probe that does not use HTTP is ignored.
fn probe(members: &mut ManifestMembers, name: &str) -> Result<Option<Probe>> {
    let Some(mut probe) = members.object(name)? else { return Ok(None) };
    let Some(mut get) = probe.object("httpGet")? else { return Ok(None) };
    let path = get.text("path", MAX_PATH)?.unwrap_or_else(|| "/".into());
    if !is_probe_path(&path) {
        let allowed =
            "an absolute path without '..', '\\', blanks and control characters, and without scheme and host";
        return Err(get.invalid("path", &path, allowed));
    }
    // The port is validated to report mistakes, but not used: the operator sets where a service runs.
    get.number("port", 1..=65_535)?;
    let seconds = |probe: &mut ManifestMembers, name: &str, allowed, otherwise| {
        Ok::<_, Error>(Duration::from_secs(probe.number(name, allowed)?.unwrap_or(otherwise).into()))
    };
    Ok(Some(Probe {
        path,
        initial_delay: seconds(&mut probe, "initialDelaySeconds", 0..=86_400, 0)?,
        period: seconds(&mut probe, "periodSeconds", 1..=86_400, 10)?,
        timeout: seconds(&mut probe, "timeoutSeconds", 1..=300, 1)?,
        success_threshold: probe.number("successThreshold", 1..=100)?.unwrap_or(1),
        failure_threshold: probe.number("failureThreshold", 1..=100)?.unwrap_or(3),
    }))
}

/// Returns whether a path stays below the address it is appended to, for every HTTP implementation.
fn is_probe_path(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>^`{|}#".contains(&byte);
    let lower = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    path.starts_with('/')
        && !lower.starts_with("//")
        && path.bytes().all(plain)
        && !lower.contains('\\')
        && !lower.split(['/', '?']).any(|segment| segment == "..")
}
