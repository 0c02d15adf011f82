//! The vendor words, as flags.

use clap::Args;
use platform_model::naming::Naming;

use super::values::{media_type_prefix, word};

/// The flags behind [`Settings::naming`] (C-20): the vendor words, for a fleet that speaks other ones.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Vendor words")]
pub struct NamingSettings {
    /// Prefix of the fragments the server knows
    #[arg(long = "naming-fragment-prefix", env = "PLATFORM_NAMING_FRAGMENT_PREFIX", value_name = "WORD",
          default_value = "plat_", value_parser = word)]
    pub fragment_prefix: String,

    /// Prefix of model markers
    #[arg(long = "naming-model-prefix", env = "PLATFORM_NAMING_MODEL_PREFIX", value_name = "WORD",
          default_value = "com_platform_", value_parser = word)]
    pub model_prefix: String,

    /// Prefix of every media type
    #[arg(long = "naming-media-type-prefix", env = "PLATFORM_NAMING_MEDIA_TYPE_PREFIX", value_name = "WORD",
          default_value = "application/vnd.example.platform.", value_parser = media_type_prefix)]
    pub media_type_prefix: String,

    /// Prefix of the platform's own request headers
    #[arg(long = "naming-header-prefix", env = "PLATFORM_NAMING_HEADER_PREFIX", value_name = "WORD",
          default_value = "X-Platform-", value_parser = word)]
    pub header_prefix: String,

    /// Member of a Bayeux handshake's ext that carries credentials
    #[arg(long = "naming-authentication-extension", env = "PLATFORM_NAMING_AUTHENTICATION_EXTENSION",
          value_name = "WORD", default_value = "com.platform.authn", value_parser = word)]
    pub authentication_extension: String,
}

impl From<&NamingSettings> for Naming {
    fn from(naming: &NamingSettings) -> Self {
        let naming = naming.clone();
        Self {
            fragment_prefix: naming.fragment_prefix,
            model_prefix: naming.model_prefix,
            media_type_prefix: naming.media_type_prefix,
            header_prefix: naming.header_prefix,
            authentication_extension: naming.authentication_extension,
        }
    }
}
