//! The vendor words of a server (C-20), which commands use instead of the default ones.

use platform_model::naming::Naming;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::http::Server;

/// The environment variables for scripts that use a server with other vendor words. They have the names of the server's
/// settings.
const FRAGMENTS: &str = "PLATFORM_NAMING_FRAGMENT_PREFIX";
const MODELS: &str = "PLATFORM_NAMING_MODEL_PREFIX";

/// The vendor words that commands need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Words {
    /// The prefix of fragments, `plat_`.
    fragments: String,
    /// The prefix of model markers, `com_platform_`.
    models: String,
}

impl Default for Words {
    fn default() -> Self {
        let Naming { fragment_prefix, model_prefix, .. } = Naming::default();
        Self { fragments: fragment_prefix, models: model_prefix }
    }
}

impl Words {
    /// Returns the vendor words in the API reference of a server, or this program's if the reference has none.
    pub(super) async fn of_server(server: &mut Server) -> Self {
        let told = match server.send("GET", "/openapi.json", None).await {
            Ok(response) if response.status == 200 => response.json().unwrap_or_default(),
            _ => Value::Null,
        };
        serde_json::from_value(told["info"]["x-vendor-words"].clone()).unwrap_or_default()
    }

    /// Returns the vendor words from the environment variables.
    pub(super) fn of_variables() -> Self {
        let Self { fragments, models } = Self::default();
        let set = |name: &str, default: String| std::env::var(name).unwrap_or(default);
        Self { fragments: set(FRAGMENTS, fragments), models: set(MODELS, models) }
    }

    /// Replaces the default vendor words in a text by those of the server.
    pub(super) fn of(&self, text: &str) -> String {
        let own = Self::default();
        text.replace(&own.models, &self.models).replace(&own.fragments, &self.fragments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_this_program_become_those_of_the_server() {
        let acme = Words { fragments: "acme_".into(), models: "com_acme_".into() };
        assert_eq!(acme.of("com_platform_model_Agent"), "com_acme_model_Agent");
        assert_eq!(acme.of(r#"{"plat_Restart":{}}"#), r#"{"acme_Restart":{}}"#);
        assert_eq!(Words::default().of("plat_IsDevice"), "plat_IsDevice");
    }
}
