//! The certificate authorities that this program trusts when it connects to external servers.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsConnector;

/// The certificate authorities that are trusted.
pub(crate) struct Roots {
    /// `None` means the authorities that the machine trusts.
    given: Option<RootCertStore>,
    /// Created on first use, because many servers never send requests.
    config: OnceCell<Arc<ClientConfig>>,
}

impl Roots {
    pub(crate) fn of_machine() -> Self {
        Self { given: None, config: OnceCell::new() }
    }

    #[cfg(test)]
    pub(crate) fn these(given: RootCertStore) -> Self {
        Self { given: Some(given), config: OnceCell::new() }
    }

    /// Returns the connector for handshakes with servers.
    ///
    /// # Errors
    /// No certificate authority can be read.
    pub(super) async fn connector(&self) -> Result<TlsConnector, String> {
        let make = async || {
            let roots = match &self.given {
                Some(given) => given.clone(),
                None => spawn_blocking(machine_roots).await.map_err(|error| error.to_string())?,
            };
            if roots.is_empty() {
                return Err("this machine has no certificates of authorities, which https needs".to_owned());
            }
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            let config = config.map_err(|error| error.to_string())?;
            Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
        };
        self.config.get_or_try_init(make).await.cloned().map(TlsConnector::from)
    }
}

fn machine_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}
