//! Subscriptions: which applications a tenant may use (Z-03), and how tenants show their applications (Z-01, Z-02).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::model::application::{Application, ApplicationType, Availability};
use crate::model::body::{Body, id_text, missing, text};
use crate::model::id::{ApplicationId, TenantId};
use crate::model::links::{Linked, Links};

/// Bytes of a link in a body.
const MAX_LINK: usize = 4096;

/// What others are told of an application where it is only referred to: without its key, its manifest and its roles.
#[derive(Debug, Clone)]
pub struct ReferredApplication {
    /// Fixed id.
    pub id: ApplicationId,
    /// The tenant that may change it.
    pub owner: TenantId,
    /// Its name.
    pub name: String,
    /// What it is made of.
    pub kind: ApplicationType,
    /// Who else may see it.
    pub availability: Availability,
    /// Where it is served.
    pub context_path: Option<String>,
    /// Where an external application is.
    pub external_url: Option<String>,
}

impl From<&Application> for ReferredApplication {
    fn from(application: &Application) -> Self {
        Self {
            id: application.id,
            owner: application.owner.clone(),
            name: application.name.clone(),
            kind: application.kind,
            availability: application.availability,
            context_path: application.context_path.clone(),
            external_url: application.external_url.clone(),
        }
    }
}

impl Serialize for Linked<'_, ReferredApplication> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Owner<'a> {
            #[serde(rename = "self")]
            link: String,
            tenant: OwningTenant<'a>,
        }
        #[derive(Serialize)]
        struct OwningTenant<'a> {
            id: &'a str,
        }
        let Linked { value: application, links } = *self;
        let tenant = OwningTenant { id: application.owner.as_str() };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.application(application.id))?;
        map.serialize_entry("id", &application.id)?;
        map.serialize_entry("name", &application.name)?;
        map.serialize_entry("type", application.kind.as_str())?;
        map.serialize_entry("availability", application.availability.as_str())?;
        map.serialize_entry("owner", &Owner { link: links.tenant(&application.owner), tenant })?;
        for (name, value) in
            [("contextPath", &application.context_path), ("externalUrl", &application.external_url)]
        {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// An application as a tenant refers to it: `{self, application}`.
#[derive(Debug, Clone)]
pub struct ApplicationReference {
    /// For a subscription: whose. Else the tenant owns the application.
    pub subscriber: Option<TenantId>,
    /// The application.
    pub application: ReferredApplication,
}

impl ApplicationReference {
    fn link(&self, links: &Links) -> String {
        match &self.subscriber {
            Some(tenant) => links.subscription(tenant, self.application.id),
            None => links.application(self.application.id),
        }
    }
}

impl Serialize for Linked<'_, ApplicationReference> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: reference, links } = *self;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("self", &reference.link(links))?;
        map.serialize_entry("application", &Linked { value: &reference.application, links })?;
        map.end()
    }
}

/// A new subscription as it is answered: `{self, application, tenant}` (Z-03).
#[derive(Debug, Clone)]
pub struct Subscription {
    /// Who subscribes.
    pub tenant: TenantId,
    /// To what.
    pub application: ReferredApplication,
}

impl Subscription {
    /// Reads which application the body of `POST /tenant/tenants/<tenant>/applications` names: `{application: {id}}` or
    /// `{application: {self}}`.
    ///
    /// # Errors
    /// `Invalid` names the absent or wrong member; what can be no id is no application.
    pub fn parse_application(mut body: Body) -> Result<ApplicationId> {
        let raw = body.take("application").ok_or_else(|| missing(&[("application", true)]))?;
        let mut object = Body::of_member("application", &raw)?;
        let (name, given) = match (object.take("id"), object.take("self")) {
            (Some(id), _) => ("application.id", id_text("application.id", &id)?),
            (None, Some(link)) => {
                let link = text("application.self", &link, MAX_LINK)?;
                let last = link.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                ("application.self", last.to_owned())
            }
            (None, None) => {
                return Err(Error::invalid_value("application", raw.get(), "an object with one of id, self"));
            }
        };
        ApplicationId::parse(&given).map_err(|_| Self::unknown(name, &given))
    }

    /// There is no such application, or none that the tenant may subscribe to: both look the same.
    pub fn unknown(member: &str, given: &str) -> Error {
        Error::invalid_value(member, given, "an application that the tenant can be subscribed to")
    }
}

impl Serialize for Linked<'_, Subscription> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Subscriber<'a> {
            #[serde(rename = "self")]
            link: String,
            id: &'a str,
        }
        let Linked { value: Subscription { tenant, application }, links } = *self;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("self", &links.subscription(tenant, application.id))?;
        map.serialize_entry("application", &Linked { value: application, links })?;
        map.serialize_entry("tenant", &Subscriber { link: links.tenant(tenant), id: tenant.as_str() })?;
        map.end()
    }
}

/// To which applications somebody may subscribe a tenant, and from which it may be unsubscribed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// All there are: for tenant `management`.
    Everything,
    /// What this tenant owns, and the market: for a tenant that looks after its sub-tenants.
    OwnedByOrMarket(TenantId),
}

impl Offer {
    /// Whether an application is among them.
    pub fn includes(&self, owner: &TenantId, availability: Availability) -> bool {
        match self {
            Self::Everything => true,
            Self::OwnedByOrMarket(tenant) => owner == tenant || availability == Availability::Market,
        }
    }
}

/// References of a tenant to its applications. A tenant may have very many: these are the first ones, and a link leads on.
#[derive(Debug, Clone, Default)]
pub struct ApplicationReferences {
    /// The first ones, by id.
    pub references: Vec<ApplicationReference>,
    /// Whether there are more.
    pub has_more: bool,
}

/// As `{self, references, next}` of the collection at this path.
pub(crate) struct ShownReferences<'a> {
    /// What is shown.
    pub references: &'a ApplicationReferences,
    /// Where all of them are listed, in pages.
    pub collection: String,
    /// Whether that is told as `self`.
    pub with_self: bool,
    /// Where links point.
    pub links: &'a Links,
}

impl Serialize for ShownReferences<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ApplicationReferences { references, has_more } = self.references;
        let members: Vec<_> = references.iter().map(|value| Linked { value, links: self.links }).collect();
        let mut map = serializer.serialize_map(None)?;
        if self.with_self {
            map.serialize_entry("self", &self.collection)?;
        }
        map.serialize_entry("references", &members)?;
        if *has_more {
            let next = format!("{}?pageSize={}&currentPage=2", self.collection, references.len());
            map.serialize_entry("next", &next)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<ApplicationId> {
        Subscription::parse_application(Body::parse(json.as_bytes()).expect("an object"))
    }

    #[test]
    fn application_is_named_by_id_or_self() {
        for json in [
            r#"{"application":{"id":"7"}}"#,
            r#"{"application":{"id":7}}"#,
            r#"{"application":{"self":"https://x/application/applications/7"}}"#,
            r#"{"application":{"self":"/application/applications/7/","id":null}}"#,
        ] {
            assert_eq!(read(json).expect(json), ApplicationId(7), "{json}");
        }
    }

    #[test]
    fn wrong_references_are_refused_by_name() {
        for json in [
            "{}",
            r#"{"application":null}"#,
            r#"{"application":7}"#,
            r#"{"application":{}}"#,
            r#"{"application":{"id":"x"}}"#,
            r#"{"application":{"id":-1}}"#,
            r#"{"application":{"id":{}}}"#,
            r#"{"application":{"self":7}}"#,
            r#"{"application":{"self":"https://x/"}}"#,
        ] {
            let error = read(json).expect_err(json);
            assert!(
                matches!(&error, Error::Invalid(text) if text.contains("application")),
                "{json}: {error}"
            );
        }
    }

    #[test]
    fn parents_offer_what_they_own_and_the_market() {
        let tenant = |id| TenantId::parse(id).expect("an id");
        let parent = Offer::OwnedByOrMarket(tenant("parent"));
        assert!(parent.includes(&tenant("parent"), Availability::Private));
        assert!(parent.includes(&tenant("other"), Availability::Market));
        assert!(!parent.includes(&tenant("other"), Availability::Private));
        assert!(Offer::Everything.includes(&tenant("other"), Availability::Private));
    }
}
