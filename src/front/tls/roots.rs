//! The certificate authorities that this program trusts when it connects to external servers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsConnector;

/// The certificate authorities that are trusted.
pub struct Roots {
    given: Given,
    /// Created on first use, because many servers never send requests.
    config: OnceCell<Arc<ClientConfig>>,
}

/// The source of the authorities.
enum Given {
    /// Those that the machine trusts.
    Machine,
    /// The certificates of a file in PEM, and no others.
    File(PathBuf),
}

impl Roots {
    /// Returns the authorities that the machine trusts, which are read when the first connection is opened.
    pub fn of_machine() -> Self {
        Self { given: Given::Machine, config: OnceCell::new() }
    }

    /// Returns the authorities of a file in PEM, which is read when the first connection is opened.
    pub fn of_file(file: PathBuf) -> Self {
        Self { given: Given::File(file), config: OnceCell::new() }
    }

    /// Returns the connector for handshakes with servers.
    ///
    /// # Errors
    /// No certificate authority can be read.
    pub(super) async fn connector(&self) -> Result<TlsConnector, String> {
        let make = async || {
            let roots = match &self.given {
                Given::Machine => spawn_blocking(machine_roots).await.map_err(|error| error.to_string())?,
                Given::File(file) => roots_of(file)?,
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

fn roots_of(file: &Path) -> Result<RootCertStore, String> {
    let refused = |why: String| format!("{}: {why}", file.display());
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| refused(error.to_string()))?;
    let certificates =
        certificates.collect::<Result<Vec<_>, _>>().map_err(|error| refused(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    if roots.add_parsable_certificates(certificates).0 == 0 {
        return Err(refused("the file has no certificate in PEM".into()));
    }
    Ok(roots)
}

fn machine_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}
