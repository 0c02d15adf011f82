//! Certificates of devices (docs/rules.md#c-28 to C-33), with curl as the client.

mod attacks;
mod authorities;
mod enrollment;
mod expiry;
mod files;
mod forwarded;
mod log_in;
mod revocation;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use platform_front::config::{ClientCertificates, Settings};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use tempfile::TempDir;

use crate::harness::certificates::Certificates;
use crate::harness::prelude::*;

/// Servers of one database that ask clients for certificates.
struct Https {
    servers: Vec<TestServer>,
    certificates: Certificates,
    directory: TempDir,
}

impl Https {
    async fn start(servers: usize) -> Self {
        Self::start_with(servers, |_| {}).await
    }

    async fn start_with(count: usize, change: impl Fn(&mut Settings)) -> Self {
        let certificates = Certificates::new();
        certificates.renew();
        let (database, mut servers) = (TestDatabase::create().await, Vec::new());
        for _ in 0..count {
            let server = TestServer::start_on(&database, |settings| {
                settings.tls.cert = Some(certificates.chain());
                settings.tls.key = Some(certificates.key());
                settings.tls.client_certificates = ClientCertificates::Optional;
                change(settings);
            });
            servers.push(server.await);
        }
        Self { servers, certificates, directory: scratch_with_data() }
    }

    /// Returns a client without a certificate.
    fn client(&self) -> Curl {
        self.client_of(0)
    }

    fn client_of(&self, server: usize) -> Curl {
        let base = format!("https://localhost:{}", self.servers[server].address().port());
        Curl { base, root: self.certificates.root_file(), arguments: Vec::new() }
    }

    /// Returns the administrator.
    fn admin(&self) -> Curl {
        self.admin_of(0)
    }

    fn admin_of(&self, server: usize) -> Curl {
        self.client_of(server).with(&["--user", &format!("main/admin:{ADMIN_PASSWORD}")])
    }

    /// Returns the administrator of tenant `management`.
    fn management(&self) -> Curl {
        self.client().with(&["--user", &format!("management/admin:{ADMIN_PASSWORD}")])
    }

    /// Creates another tenant, and returns its administrator.
    async fn with_tenant(&self, id: &str) -> Curl {
        let tenant = json!({"id": id, "domain": format!("{id}.example.com"), "company": id, "adminName": "admin",
            "adminPass": "admin-password", "adminEmail": "a@b.de"});
        self.management().send("POST", "/tenant/tenants", &tenant).await.expect(201);
        self.client().with(&["--user", &format!("{id}/admin:admin-password")])
    }

    /// Returns a client with a certificate, at another server than the administrator if there are several.
    fn device(&self, certificate: &Leaf) -> Curl {
        self.device_at(self.servers.len() - 1, certificate)
    }

    fn device_at(&self, server: usize, certificate: &Leaf) -> Curl {
        let file = |name: &str, content: &str| {
            let file = self.directory.path().join(format!("{}-{name}", certificate.name));
            std::fs::write(&file, content).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let (cert, key) = (file("cert.pem", &certificate.chain), file("key.pem", &certificate.key));
        self.client_of(server).with(&["--cert", &cert, "--key", &key])
    }

    /// Lets the tenant trust an authority, and proves its possession.
    async fn trust(&self, authority: &Authority, settings: Value) -> String {
        trust(&self.admin(), "main", authority, settings).await
    }
}

/// Lets a tenant trust an authority, and proves its possession.
async fn trust(admin: &Curl, tenant: &str, authority: &Authority, settings: Value) -> String {
    let mut body = settings;
    body["certInPemFormat"] = json!(authority.issuer.pem());
    let path = format!("/tenant/tenants/{tenant}/trusted-certificates");
    let created = admin.send("POST", &path, &body).await.expect(201);
    let fingerprint = created["fingerprint"].as_str().unwrap().to_owned();
    prove(admin, tenant, authority, &fingerprint).await.expect(200);
    fingerprint
}

/// Proves the possession of the key of an authority.
async fn prove(admin: &Curl, tenant: &str, authority: &Authority, fingerprint: &str) -> Reply {
    let path = format!("/tenant/tenants/{tenant}/trusted-certificates-pop/{fingerprint}");
    let code = admin.send("POST", &format!("{path}/verification-code"), &json!({})).await.expect(200);
    let code = code["proofOfPossessionUnsignedVerificationCode"].as_str().unwrap().to_owned();
    let body = json!({"proofOfPossessionSignedVerificationCode": authority.sign(&code)});
    admin.send("POST", &format!("{path}/pop"), &body).await
}

/// A certificate authority.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// The certificate of a device, with those above it, and its key.
#[derive(Clone)]
struct Leaf {
    name: String,
    chain: String,
    key: String,
    serial: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        Self {
            issuer: CertifiedIssuer::self_signed(of_authority(name), KeyPair::generate().unwrap()).unwrap(),
        }
    }

    /// Returns an authority below this one.
    fn below(&self, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        Self { issuer: CertifiedIssuer::signed_by(of_authority(name), key, &self.issuer).unwrap() }
    }

    /// Issues a certificate whose common name is the id of a device.
    fn issue(&self, id: &str) -> Leaf {
        self.issue_with(id, |_| {})
    }

    fn issue_with(&self, id: &str, change: impl FnOnce(&mut CertificateParams)) -> Leaf {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, id);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let serial: u64 = u64::from(std::process::id()) << 32 | u64::from(next_number());
        params.serial_number = Some(serial.into());
        change(&mut params);
        let leaf = params.signed_by(&key, &self.issuer).unwrap();
        let name = format!("{serial:x}");
        Leaf { name, chain: leaf.pem(), key: key.serialize_pem(), serial: format!("{serial:x}") }
    }

    /// Signs a code as `openssl dgst -sha256 -sign` does.
    fn sign(&self, code: &str) -> String {
        use base64::Engine;
        use rcgen::SigningKey;
        base64::engine::general_purpose::STANDARD.encode(self.issuer.key().sign(code.as_bytes()).unwrap())
    }
}

fn next_number() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn of_authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign, rcgen::KeyUsagePurpose::CrlSign];
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Requests that curl sends.
#[derive(Clone)]
struct Curl {
    base: String,
    root: PathBuf,
    arguments: Vec<String>,
}

/// A response that curl received; the status is 0 without one.
#[derive(Debug)]
struct Reply {
    status: u16,
    text: String,
}

impl Curl {
    fn with(&self, arguments: &[&str]) -> Self {
        let more = arguments.iter().map(|one| (*one).to_owned());
        Self { arguments: self.arguments.iter().cloned().chain(more).collect(), ..self.clone() }
    }

    async fn get(&self, path: &str) -> Reply {
        self.run(path, &["-H", "Accept: application/json"], "").await
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Reply {
        let json = ["-H", "Content-Type: application/json", "-H", "Accept: application/json"];
        let arguments = [&["-X", method, "--data-binary", "@-"][..], &json].concat();
        self.run(path, &arguments, &body.to_string()).await
    }

    async fn run(&self, path: &str, arguments: &[&str], body: &str) -> Reply {
        let mut command = Command::new("curl");
        command.args(["-sS", "--max-time", "30", "-w", "\n%{http_code}", "--cacert"]).arg(&self.root);
        command.args(&self.arguments).args(arguments).arg(format!("{}{path}", self.base));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let body = body.to_owned();
        let done = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().expect("curl is installed");
            child.stdin.take().unwrap().write_all(body.as_bytes()).ok();
            child.wait_with_output().unwrap()
        });
        let output = String::from_utf8_lossy(&done.await.unwrap().stdout).into_owned();
        let (text, status) = output.rsplit_once('\n').unwrap();
        Reply { status: status.parse().unwrap(), text: text.to_owned() }
    }
}

impl Reply {
    #[track_caller]
    fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// Checks the status and a part of the message.
    #[track_caller]
    fn expect_message(self, status: u16, part: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(self.text.contains(part), "{} has no {part:?}", self.text);
    }
}
