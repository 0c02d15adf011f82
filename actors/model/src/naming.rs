//! The vendor names of a deployment.
//!
//! The rules of the API contain `platform` and `plat_` in place of a vendor's name. A fleet that uses another vendor's
//! names works unchanged if they are configured at the start (`PLATFORM_NAMING_…`, C-20).

use std::sync::OnceLock;

/// The vendor names in media types, headers, fragments and extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// The prefix of fragments that the server knows, `plat_`.
    pub fragment_prefix: String,
    /// The prefix of model markers, `com_platform_`.
    pub model_prefix: String,
    /// The prefix of every media type, `application/vnd.example.platform.`.
    pub media_type_prefix: String,
    /// The prefix of the platform's own request headers, `X-Platform-`.
    pub header_prefix: String,
    /// The member of the Bayeux handshake's `ext` with the credentials, `com.platform.authn`.
    pub authentication_extension: String,
}

impl Default for Naming {
    fn default() -> Self {
        Self {
            fragment_prefix: "plat_".into(),
            model_prefix: "com_platform_".into(),
            media_type_prefix: "application/vnd.example.platform.".into(),
            header_prefix: "X-Platform-".into(),
            authentication_extension: "com.platform.authn".into(),
        }
    }
}

static NAMING: OnceLock<Naming> = OnceLock::new();

/// Returns the installed names, or else those of the rules.
pub fn naming() -> &'static Naming {
    NAMING.get_or_init(Naming::default)
}

/// Installs the configured names. `main` calls it once, before their first use.
///
/// # Errors
/// Returns the names when other ones are in use already: they are set once per process.
pub fn install(naming: Naming) -> Result<(), Naming> {
    match NAMING.set(naming) {
        Err(refused) if NAMING.get() != Some(&refused) => Err(refused),
        _ => Ok(()),
    }
}

impl Naming {
    /// Returns a media type such as `application/vnd.example.platform.alarm+json`.
    pub fn media_type(&self, name: &str) -> String {
        format!("{}{name}+json", self.media_type_prefix)
    }

    /// Returns a header name such as `X-Platform-Processing-Mode`.
    pub fn header(&self, name: &str) -> String {
        format!("{}{name}", self.header_prefix)
    }

    /// Returns a model marker such as `com_platform_model_Agent`.
    pub fn model(&self, name: &str) -> String {
        format!("{}model_{name}", self.model_prefix)
    }

    /// Returns a fragment name such as `plat_IsDevice`.
    pub fn fragment(&self, name: &str) -> String {
        format!("{}{name}", self.fragment_prefix)
    }
}
