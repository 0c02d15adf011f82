//! The vendor words, in one place.
//!
//! The rules of the API write `platform` and `plat_` where a vendor's name would stand. A fleet that speaks another
//! vendor's words is served unchanged by setting them at start (`PLATFORM_NAMING_…`, C-20).

use std::sync::OnceLock;

/// The words a deployment uses in media types, headers, fragments and extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// Prefix of server-known fragments, `plat_`.
    pub fragment_prefix: String,
    /// Prefix of model markers, `com_platform_`.
    pub model_prefix: String,
    /// Prefix of every media type, `application/vnd.example.platform.`.
    pub media_type_prefix: String,
    /// Prefix of the platform's own request headers, `X-Platform-`.
    pub header_prefix: String,
    /// Member of the Bayeux handshake's `ext` that carries credentials, `com.platform.authn`.
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

/// The words in force: the installed ones, else those of the rules.
pub fn naming() -> &'static Naming {
    NAMING.get_or_init(Naming::default)
}

/// Installs the configured words. Called once by `main`, before the first use.
///
/// # Errors
/// Gives the words back when others are already in force: they are read once per process.
pub fn install(naming: Naming) -> Result<(), Naming> {
    match NAMING.set(naming) {
        Err(refused) if NAMING.get() != Some(&refused) => Err(refused),
        _ => Ok(()),
    }
}

impl Naming {
    /// A media type such as `application/vnd.example.platform.alarm+json`.
    pub fn media_type(&self, name: &str) -> String {
        format!("{}{name}+json", self.media_type_prefix)
    }

    /// A header name such as `X-Platform-Processing-Mode`.
    pub fn header(&self, name: &str) -> String {
        format!("{}{name}", self.header_prefix)
    }

    /// A marker of the model such as `com_platform_model_Agent`.
    pub fn model(&self, name: &str) -> String {
        format!("{}model_{name}", self.model_prefix)
    }

    /// A fragment name such as `plat_IsDevice`.
    pub fn fragment(&self, name: &str) -> String {
        format!("{}{name}", self.fragment_prefix)
    }
}
