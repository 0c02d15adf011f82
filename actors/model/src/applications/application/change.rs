//! Creating and changing applications: the bodies of POST and PUT (docs/rules.md#applications-and-microservices; W-04).

use serde_json::value::RawValue;

use super::members::{
    Secret, address, check_name, context_path, key, parse_roles, resources_password, resources_username,
};
use super::{Application, ApplicationType, Availability};
use crate::body::{Body, missing, text};
use crate::error::{Error, Result};
use crate::id::{ApplicationId, TenantId};

/// The prefix of names, keys and context paths of clones (W-09).
const CLONE: &str = "clone";

/// An application to create, with its secrets in plain text.
#[derive(Debug, Clone)]
pub struct NewApplication {
    /// All other properties.
    pub application: Application,
    /// The key of the application.
    pub key: Secret,
    /// The password of `resourcesUrl`.
    pub resources_password: Option<Secret>,
}

impl NewApplication {
    /// Parses the body of `POST /application/applications`.
    ///
    /// # Errors
    /// `Invalid` lists all missing members (E-05) or names the invalid one.
    pub fn parse(body: Body, id: ApplicationId, owner: TenantId) -> Result<Self> {
        let members = ApplicationPatch::parse_members(body, Nulls::Absent)?;
        let is = |kind| members.kind == Some(kind);
        let (hosted, external) = (is(ApplicationType::Hosted), is(ApplicationType::External));
        let absent = [
            ("name", members.name.is_none()),
            ("key", members.key.is_none()),
            ("type", members.kind.is_none()),
            ("contextPath", hosted && members.context_path.is_none()),
            ("resourcesUrl", hosted && members.resources_url.is_none()),
            ("externalUrl", external && members.external_url.is_none()),
        ];
        let (Some(kind), Some(name), Some(key)) = (members.kind, members.name, members.key) else {
            return Err(missing(&absent));
        };
        if absent.iter().any(|(_, absent)| *absent) {
            return Err(missing(&absent));
        }
        check_name(&name, kind)?;
        let application = Application {
            context_path: served_at(members.context_path.flatten(), kind, &name),
            id,
            owner,
            name,
            kind,
            availability: members.availability.flatten().unwrap_or_default(),
            resources_url: members.resources_url.flatten(),
            resources_username: members.resources_username.flatten(),
            external_url: members.external_url.flatten(),
            required_roles: members.required_roles.unwrap_or_default(),
            roles: members.roles.unwrap_or_default(),
            manifest: None,
            active_version: None,
            route: None,
        };
        Ok(Self { application, key, resources_password: members.resources_password.flatten() })
    }

    /// Returns the clone of an application (W-09), without its uploaded version and its address, which the caller
    /// copies or sets.
    ///
    /// # Errors
    /// `Invalid` for a name, a key or a context path that becomes too long with the prefix.
    pub fn clone_of(
        application: &Application,
        id: ApplicationId,
        key: &Secret,
        resources_password: Option<Secret>,
    ) -> Result<Self> {
        let quoted = |text: &str| {
            let json = serde_json::to_string(&format!("{CLONE}{text}")).expect("a text is JSON");
            RawValue::from_string(json).expect("a text is JSON")
        };
        let name = format!("{CLONE}{}", application.name);
        check_name(&name, application.kind)?;
        let path = application.context_path.as_deref().map(|path| context_path(&quoted(path))).transpose()?;
        let application = Application {
            id,
            name,
            context_path: path,
            manifest: None,
            active_version: None,
            route: None,
            ..application.clone()
        };
        Ok(Self { application, key: self::key(&quoted(key.as_str()))?, resources_password })
    }
}

/// Returns the context path of a new application; the default for a microservice is its name.
fn served_at(given: Option<String>, kind: ApplicationType, name: &str) -> Option<String> {
    given.or_else(|| (kind == ApplicationType::Microservice).then(|| name.to_owned()))
}

/// The body of `PUT /application/applications/<id>`: only the members in it change; an inner `None` removes a member
/// (C-10).
#[derive(Debug, Clone, Default)]
pub struct ApplicationPatch {
    /// The new name.
    pub name: Option<String>,
    /// The new key.
    pub key: Option<Secret>,
    /// The unchanged type, because a type cannot change.
    pub kind: Option<ApplicationType>,
    /// The new availability; an inner `None` restores the default.
    pub availability: Option<Option<Availability>>,
    /// The new context path.
    pub context_path: Option<Option<String>>,
    /// The address of a hosted application's files.
    pub resources_url: Option<Option<String>>,
    /// The user name for that address.
    pub resources_username: Option<Option<String>>,
    /// The password for that address.
    pub resources_password: Option<Option<Secret>>,
    /// The address of an external application.
    pub external_url: Option<Option<String>>,
    /// The new list of roles of service users.
    pub required_roles: Option<Vec<String>>,
    /// The new list of roles that the application defines.
    pub roles: Option<Vec<String>>,
}

/// The meaning of `null`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// The member counts as absent, as in a POST.
    Absent,
    /// The member is removed, as in a PUT.
    Remove,
}

impl ApplicationPatch {
    /// Parses the body of a PUT. Members that the server sets are ignored, because clients send back what they read.
    ///
    /// # Errors
    /// `Invalid` names the invalid member; this includes a mandatory member that is `null`.
    pub fn parse(body: Body) -> Result<Self> {
        Self::parse_members(body, Nulls::Remove)
    }

    fn parse_members(mut body: Body, nulls: Nulls) -> Result<Self> {
        let body = &mut body;
        let kind = required(body, "type", nulls)?.map(|raw| text("type", &raw, 64)).transpose()?;
        Ok(Self {
            name: required(body, "name", nulls)?.map(|raw| text("name", &raw, 1024)).transpose()?,
            key: required(body, "key", nulls)?.map(|raw| key(&raw)).transpose()?,
            kind: kind.map(|word| ApplicationType::parse(&word)).transpose()?,
            availability: removable(body, "availability", nulls, |raw| {
                Availability::parse(&text("availability", raw, 64)?)
            })?,
            context_path: removable(body, "contextPath", nulls, context_path)?,
            resources_url: removable(body, "resourcesUrl", nulls, |raw| address("resourcesUrl", raw))?,
            resources_username: removable(body, "resourcesUsername", nulls, resources_username)?,
            resources_password: removable(body, "resourcesPassword", nulls, resources_password)?,
            external_url: removable(body, "externalUrl", nulls, |raw| address("externalUrl", raw))?,
            required_roles: removable(body, "requiredRoles", nulls, |raw| parse_roles("requiredRoles", raw))?
                .map(Option::unwrap_or_default),
            roles: removable(body, "roles", nulls, |raw| parse_roles("roles", raw))?
                .map(Option::unwrap_or_default),
        })
    }

    /// Changes a stored application. A microservice whose context path was its name gets the new name as context path.
    ///
    /// # Errors
    /// `Invalid` for another type, for a name its type does not allow, and for removing a member its type needs.
    pub fn apply(&self, application: &mut Application) -> Result<()> {
        let kind = application.kind;
        if let Some(other) = self.kind.filter(|other| *other != kind) {
            let allowed = format!("{}, which cannot be changed", kind.as_str());
            return Err(Error::invalid_value("type", other.as_str(), &allowed));
        }
        for (name, value, needed_by) in [
            ("contextPath", &self.context_path, ApplicationType::Hosted),
            ("resourcesUrl", &self.resources_url, ApplicationType::Hosted),
            ("externalUrl", &self.external_url, ApplicationType::External),
        ] {
            if *value == Some(None) && kind == needed_by {
                let allowed = format!("a string, which type {} requires", kind.as_str());
                return Err(Error::invalid_value(name, "null", &allowed));
            }
        }
        if let Some(name) = &self.name {
            check_name(name, kind)?;
            let old_name = std::mem::replace(&mut application.name, name.clone());
            if kind == ApplicationType::Microservice && application.context_path.as_ref() == Some(&old_name) {
                application.context_path = Some(name.clone());
            }
        }
        if let Some(path) = &self.context_path {
            application.context_path = served_at(path.clone(), kind, &application.name);
        }
        application.availability =
            self.availability.map_or(application.availability, Option::unwrap_or_default);
        replace(&mut application.resources_url, self.resources_url.as_ref());
        replace(&mut application.resources_username, self.resources_username.as_ref());
        replace(&mut application.external_url, self.external_url.as_ref());
        replace(&mut application.required_roles, self.required_roles.as_ref());
        replace(&mut application.roles, self.roles.as_ref());
        Ok(())
    }
}

fn replace<T: Clone>(place: &mut T, new: Option<&T>) {
    if let Some(new) = new {
        place.clone_from(new);
    }
}

/// Takes a member that cannot be removed from the body.
fn required(body: &mut Body, name: &str, nulls: Nulls) -> Result<Option<Box<RawValue>>> {
    match (body.take_nullable(name), nulls) {
        (Some(None), Nulls::Remove) => Err(Error::invalid_value(name, "null", "a string")),
        (given, _) => Ok(given.flatten()),
    }
}

/// Takes a member that can be removed from the body.
fn removable<T>(
    body: &mut Body,
    name: &str,
    nulls: Nulls,
    parse: impl Fn(&RawValue) -> Result<T>,
) -> Result<Option<Option<T>>> {
    match (body.take_nullable(name), nulls) {
        (None, _) | (Some(None), Nulls::Absent) => Ok(None),
        (Some(None), Nulls::Remove) => Ok(Some(None)),
        (Some(Some(raw)), _) => parse(&raw).map(|value| Some(Some(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(json: &str) -> Result<NewApplication> {
        let owner = TenantId::parse("main")?;
        NewApplication::parse(Body::parse(json.as_bytes())?, ApplicationId::numbered(7), owner)
    }

    fn patch(json: &str) -> Result<ApplicationPatch> {
        ApplicationPatch::parse(Body::parse(json.as_bytes())?)
    }

    #[test]
    fn missing_members_depend_on_the_type_and_are_listed_together() {
        for (body, members) in [
            ("{}", "name,key,type"),
            (r#"{"name":null,"type":"HOSTED"}"#, "name,key,contextPath,resourcesUrl"),
            (r#"{"type":"EXTERNAL","key":"k"}"#, "name,externalUrl"),
            (r#"{"type":"MICROSERVICE"}"#, "name,key"),
            (r#"{"type":"APAMA_CEP_RULE","name":"x"}"#, "key"),
        ] {
            let error = new(body).expect_err(body).to_string();
            assert_eq!(error, format!("Following mandatory fields should be included: {members}"), "{body}");
        }
    }

    #[test]
    fn secrets_are_neither_in_errors_nor_in_debug_output() {
        let secret = "hush-hush";
        for wrong in [
            r#"{"key":["hush-hush"]}"#,
            r#"{"key":"hush-hush "}"#,
            r#"{"resourcesPassword":{"a":"hush-hush"}}"#,
        ] {
            let error = patch(wrong).expect_err(wrong).to_string();
            assert!(!error.contains(secret), "{error}");
        }
        let sent = patch(r#"{"key":"hush-hush","resourcesPassword":"hush-hush"}"#).expect("valid");
        assert!(!format!("{sent:?}").contains(secret));
    }

    #[test]
    fn context_path_of_a_microservice_follows_its_name_until_another_is_set() {
        let mut service =
            new(r#"{"name":"a","key":"k","type":"MICROSERVICE"}"#).expect("complete").application;
        assert_eq!(service.context_path.as_deref(), Some("a"));
        patch(r#"{"name":"b"}"#).and_then(|patch| patch.apply(&mut service)).expect("renamed");
        assert_eq!(service.context_path.as_deref(), Some("b"));
        patch(r#"{"contextPath":"/p"}"#).and_then(|patch| patch.apply(&mut service)).expect("moved");
        patch(r#"{"name":"c"}"#).and_then(|patch| patch.apply(&mut service)).expect("renamed");
        assert_eq!(service.context_path.as_deref(), Some("p"));
        patch(r#"{"contextPath":null}"#).and_then(|patch| patch.apply(&mut service)).expect("moved back");
        assert_eq!(service.context_path.as_deref(), Some("c"));
    }

    #[test]
    fn members_that_a_type_needs_cannot_be_removed() {
        let hosted = r#"{"name":"a b","key":"k","type":"HOSTED","contextPath":"a","resourcesUrl":"/"}"#;
        let mut hosted = new(hosted).expect("complete").application;
        for wrong in [
            r#"{"contextPath":null}"#,
            r#"{"resourcesUrl":null}"#,
            r#"{"type":"EXTERNAL"}"#,
            r#"{"name":""}"#,
        ] {
            assert!(patch(wrong).expect("well-formed").apply(&mut hosted).is_err(), "{wrong}");
        }
        for wrong in [r#"{"name":null}"#, r#"{"key":null}"#, r#"{"type":null}"#] {
            assert!(patch(wrong).is_err(), "{wrong}");
        }
    }
}
