//! HTTPS: the certificate of `--tls-cert` with its key, and the TLS handshake before HTTP.
//!
//! A certificate is renewed by replacing the files. The server checks them at intervals, and new connections use
//! their current contents. Files that cannot be used, for example a half-written one, change nothing. Open
//! connections keep the certificate they began with.

mod client_certificate;
mod connect;
mod roots;
mod socket;

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use ring::digest::{SHA256, digest};
use rustls::crypto::ring::{Ticketer, default_provider};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, ServerConnection};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::config::{ClientCertificates, TlsSettings};
use crate::telemetry::{Handshake, count_handshake, set_certificate_expiry};
pub use client_certificate::ClientCertificate;
use client_certificate::Possession;
pub use connect::Security;
pub use roots::Roots;
pub(crate) use socket::Socket;

/// The most bytes of a certificate or key file, far more than the longest chain needs.
const FILE_BYTES: u64 = 1 << 20;
/// The first byte of a TLS connection.
const HANDSHAKE_RECORD: u8 = 22;

/// The TLS configuration of new connections, which follows the files.
#[derive(Debug)]
pub struct Tls {
    files: Files,
    handshake: Duration,
    check: Duration,
    /// The end of the validity of the certificate that was loaded at the start.
    expires: Option<SystemTime>,
    config: RwLock<Arc<ServerConfig>>,
    /// The state of the files at the last check, usable or not.
    seen: RwLock<Seen>,
}

/// The paths of certificate and key.
#[derive(Debug, Clone)]
struct Files {
    certificate: Box<Path>,
    key: Box<Path>,
    of_clients: ClientCertificates,
}

/// The digest of the files' contents, or why they cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Contents([u8; 32]),
    Unreadable(String),
}

/// An accepted connection.
#[derive(Debug)]
pub(crate) enum Accepted {
    Encrypted(Box<TlsStream<Socket>>),
    /// The client sends HTTP without TLS.
    Plain(TcpStream),
}

/// A certificate that is ready for use.
struct Loaded {
    config: Arc<ServerConfig>,
    /// The SHA-256 of the certificate, as `openssl x509 -fingerprint -sha256` prints it.
    fingerprint: String,
    /// The end of its validity; `None` if it cannot be read.
    expires: Option<SystemTime>,
}

/// Checks the files as a start would, and returns when the certificate expires.
///
/// # Errors
/// As [`Tls::load`].
pub fn check(settings: &TlsSettings) -> Result<Option<SystemTime>, String> {
    let Some(files) = Files::of(settings)? else { return Ok(None) };
    Ok(files.load(&files.read()?)?.expires)
}

/// Returns the end of a certificate's validity.
fn expiry(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let seconds = parsed.validity().not_after.timestamp();
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.try_into().ok()?))
}

impl Tls {
    /// Loads the configured certificate; returns `None` when none is configured.
    ///
    /// # Errors
    /// One line that names the file and the problem.
    pub fn load(settings: &TlsSettings) -> Result<Option<Arc<Self>>, String> {
        let Some(files) = Files::of(settings)? else { return Ok(None) };
        let contents = files.read()?;
        let loaded = files.load(&contents)?;
        files.log_loaded(&loaded);
        Ok(Some(Arc::new(Self {
            files,
            handshake: settings.handshake,
            check: settings.check,
            expires: loaded.expires,
            config: RwLock::new(loaded.config),
            seen: RwLock::new(Seen::Contents(contents.digest())),
        })))
    }

    /// Performs the TLS handshake with a client. A handshake that is not complete in time is aborted.
    ///
    /// # Errors
    /// The handshake failed.
    pub(crate) async fn accept(&self, tcp: TcpStream) -> io::Result<Accepted> {
        let shaking = async {
            let mut first = [0];
            if tcp.peek(&mut first).await? == 1 && first[0] != HANDSHAKE_RECORD {
                return Ok(Accepted::Plain(tcp));
            }
            let acceptor = TlsAcceptor::from(self.config.read().clone());
            let mut stream = Box::new(acceptor.accept(Socket::new(tcp)).await?);
            let (socket, session) = stream.get_mut();
            socket.certificate = session.peer_certificates().and_then(|chain| {
                let chain = chain.iter().map(|one| one.clone().into_owned()).collect();
                ClientCertificate::new(chain).map(Arc::new)
            });
            Ok(Accepted::Encrypted(stream))
        };
        let outcome = timeout(self.handshake, shaking).await;
        let (outcome, counted) = match outcome {
            Ok(Ok(stream @ Accepted::Encrypted(_))) => (Ok(stream), Handshake::Done),
            Ok(Ok(stream @ Accepted::Plain(_))) => (Ok(stream), Handshake::Plain),
            Ok(Err(error)) => (Err(error), Handshake::Failed),
            Err(_) => (Err(io::ErrorKind::TimedOut.into()), Handshake::Slow),
        };
        count_handshake(counted);
        outcome.inspect_err(|error| tracing::debug!(%error, "the tls handshake failed"))
    }

    /// Returns the interval at which the files are to be checked.
    pub fn check(&self) -> Duration {
        self.check
    }

    /// Sets the metric of the validity of the certificate that was loaded at the start.
    pub fn show_expiry(&self) {
        if let Some(expires) = self.expires {
            set_certificate_expiry(expires);
        }
    }

    /// Checks the files once, and uses their contents if they are new and valid.
    pub async fn check_files(&self) {
        let (files, before) = (self.files.clone(), self.seen.read().clone());
        let checked = spawn_blocking(move || {
            let contents = files.read();
            let seen = match &contents {
                Ok(contents) => Seen::Contents(contents.digest()),
                Err(error) => Seen::Unreadable(error.clone()),
            };
            (seen != before).then(|| (seen, contents.and_then(|contents| files.load(&contents))))
        });
        let Ok(Some((seen, loaded))) = checked.await else { return };
        *self.seen.write() = seen;
        match loaded {
            Ok(loaded) => {
                self.files.log_loaded(&loaded);
                if let Some(expires) = loaded.expires {
                    set_certificate_expiry(expires);
                }
                *self.config.write() = loaded.config;
            }
            Err(error) => {
                tracing::error!(%error, "the new tls certificate cannot be used; the previous one stays in use")
            }
        }
    }
}

/// Returns whether the peer has closed or broken the connection, as far as the system knows at this moment. Bytes
/// that the peer sent instead are moved into the session. The second value is then `true`, and the task that waits
/// for the socket must be woken to read them.
pub(crate) fn has_ended(tcp: &TcpStream, session: &mut ServerConnection) -> (bool, bool) {
    let mut taken = false;
    loop {
        let ended = match session.process_new_packets() {
            Err(_) => true,
            Ok(state) if state.peer_has_closed() => true,
            // A further request waits to be read.
            Ok(_) if !session.wants_read() => return (false, taken),
            Ok(_) => match session.read_tls(&mut RawSocket(tcp)) {
                Ok(0) => true,
                Ok(_) => {
                    taken = true;
                    continue;
                }
                Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            },
        };
        return (ended, taken);
    }
}

/// A socket that is read without the event loop, which may not have noticed yet that bytes arrived.
struct RawSocket<'a>(&'a TcpStream);

impl Read for RawSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*SockRef::from(self.0)).read(buffer)
    }
}

/// The contents of both files.
#[derive(PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Contents {
    fn digest(&self) -> [u8; 32] {
        let of_both = [digest(&SHA256, &self.certificate), digest(&SHA256, &self.key)];
        let of_both: Vec<u8> = of_both.iter().flat_map(|digest| digest.as_ref()).copied().collect();
        digest(&SHA256, &of_both).as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

impl Files {
    /// Returns the files of the settings.
    ///
    /// # Errors
    /// Only one of the two is set.
    fn of(settings: &TlsSettings) -> Result<Option<Self>, String> {
        let of_clients = settings.client_certificates;
        match (&settings.cert, &settings.key) {
            (None, None) if of_clients != ClientCertificates::Off => Err(
                "--client-certificates needs --tls-cert and --tls-key, because clients present them to HTTPS"
                    .into(),
            ),
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => {
                let (certificate, key) = (certificate.as_path().into(), key.as_path().into());
                Ok(Some(Self { certificate, key, of_clients }))
            }
            (Some(_), None) => Err("--tls-cert needs --tls-key, the file of its private key".into()),
            (None, Some(_)) => Err("--tls-key needs --tls-cert, the file of its certificate".into()),
        }
    }

    /// Reads both files, and again to make sure that nobody replaced them meanwhile: the beginning of one certificate
    /// and the end of another can look like a certificate, with a signature that no client accepts.
    fn read(&self) -> Result<Contents, String> {
        let contents = self.read_once()?;
        if self.read_once()? == contents {
            Ok(contents)
        } else {
            Err(self.certificate_error("is being replaced together with its key"))
        }
    }

    fn read_once(&self) -> Result<Contents, String> {
        Ok(Contents {
            certificate: read(&self.certificate).map_err(|error| self.certificate_error(error))?,
            key: read(&self.key).map_err(|error| self.key_error(error))?,
        })
    }

    fn load(&self, contents: &Contents) -> Result<Loaded, String> {
        let chain = certificates(&contents.certificate).map_err(|error| self.certificate_error(error))?;
        let key = private_key(&contents.key).map_err(|error| self.key_error(error))?;
        let provider = Arc::new(default_provider());
        let key = provider.key_provider.load_private_key(key);
        let key =
            key.map_err(|error| self.key_error(format!("a private key that cannot be used: {error}")))?;
        let (fingerprint, expires) = (fingerprint(&chain[0]), expiry(&chain[0]));
        let pair = CertifiedKey::new(chain, key);
        pair.keys_match().map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => self.key_error(format!(
                "the key does not belong to the first certificate of {}",
                self.certificate.display()
            )),
            error => self.certificate_error(format!("a certificate that cannot be used: {error}")),
        })?;
        let possession = Possession::of(self.of_clients, provider.signature_verification_algorithms);
        let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let versions = versions.map_err(|error| format!("no version of TLS: {error}"))?;
        let builder = match possession {
            Some(possession) => versions.with_client_cert_verifier(possession),
            None => versions.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A returning device resumes its session from a ticket, and the server stores nothing for it.
        config.ticketer = Ticketer::new().map_err(|error| format!("no tickets: {error}"))?;
        config.send_tls13_tickets = 1;
        Ok(Loaded { config: Arc::new(config), fingerprint, expires })
    }

    fn log_loaded(&self, loaded: &Loaded) {
        tracing::info!(
            certificate.file = %self.certificate.display(),
            certificate.sha256 = loaded.fingerprint,
            "tls certificate loaded"
        );
    }

    fn certificate_error(&self, error: impl std::fmt::Display) -> String {
        format!("--tls-cert {}: {error}", self.certificate.display())
    }

    fn key_error(&self, error: impl std::fmt::Display) -> String {
        format!("--tls-key {}: {error}", self.key.display())
    }
}

/// Reads a regular file up to a limit. A pipe is rejected, because its end might never come.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: io::Error| format!("cannot be read: {error}");
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err("is not a regular file".into());
    }
    let mut contents = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(FILE_BYTES + 1).read_to_end(&mut contents).map_err(cannot)?;
    match contents.len() as u64 {
        0 => Err("is empty".into()),
        FILE_BYTES.. => Err(format!("is larger than {FILE_BYTES} bytes")),
        _ => Ok(contents),
    }
}

/// Parses the certificates of a PEM file; the server's own comes first.
fn certificates(contents: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(contents).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err("contains no certificate in PEM".into()),
        Ok(chain) => Ok(chain),
        Err(error) => Err(flaw(&error)),
    }
}

/// Parses the first private key of a PEM file.
fn private_key(contents: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    let encrypted = contents.windows(9).any(|window| window == b"ENCRYPTED");
    PrivateKeyDer::from_pem_slice(contents).map_err(|error| match error {
        _ if encrypted => "the private key is encrypted; give one without a passphrase".into(),
        pem::Error::NoItemsFound => "contains no private key in PEM".into(),
        error => flaw(&error),
    })
}

/// Returns what is wrong with a PEM file. It never contains the file's text, which may be a key.
fn flaw(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => "is not a complete PEM file: an END line is missing".into(),
        pem::Error::IllegalSectionStart { .. } => "is not a PEM file: a BEGIN line is malformed".into(),
        pem::Error::Base64Decode(_) => {
            "is not a PEM file: the text between BEGIN and END is not base64".into()
        }
        _ => "is not a readable PEM file".into(),
    }
}

fn fingerprint(certificate: &[u8]) -> String {
    let bytes = digest(&SHA256, certificate);
    let pairs: Vec<String> = bytes.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    pairs.join(":")
}

#[cfg(test)]
pub(crate) mod tests;
