//! Proxies that end TLS and forward the certificates of their clients (docs/rules.md#c-32): HAProxy and nginx.
//!
//! Where one of them is missing, its test prints that and passes, unless `PLATFORM_CLIENT_SUITE=required` is set, as in
//! CI.

use std::process::Child;

use super::attacks::as_header;
use super::*;

const OWN: &str = "/user/currentUser";
/// Debian installs HAProxy in a directory that is not in every user's PATH.
const PATHS: [&str; 2] = ["", "/usr/sbin/"];

/// A server without TLS that trusts proxies on this machine, and an authority that it trusts.
struct Behind {
    server: TestServer,
    certificates: Certificates,
    factory: Authority,
    directory: TempDir,
}

/// A proxy; it is killed when this is dropped.
struct Proxy(Child, u16);

impl Drop for Proxy {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Behind {
    async fn start() -> Self {
        let server = TestServer::start_with(|settings| {
            settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
            settings.client_certificate_header = Some("client-cert".into());
        })
        .await;
        let (certificates, directory) = (Certificates::new(), scratch_with_data());
        certificates.renew();
        let behind = Self { server, certificates, factory: Authority::new("factory"), directory };
        trust(&behind.admin(), "main", &behind.factory, json!({"autoRegistrationEnabled": true})).await;
        behind
    }

    /// Returns a client without a proxy.
    fn client(&self) -> Curl {
        Curl {
            base: self.server.base().to_owned(),
            root: self.certificates.root_file(),
            arguments: vec!["--noproxy".into(), "*".into()],
        }
    }

    fn admin(&self) -> Curl {
        self.client().with(&["--user", &format!("main/admin:{ADMIN_PASSWORD}")])
    }

    fn written(&self, name: &str, text: &str) -> String {
        let file = self.directory.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// Starts a program with a configuration; `None` if it is missing.
    async fn proxy(
        &self,
        name: &str,
        arguments: &[&str],
        configuration: impl FnOnce(u16) -> String,
    ) -> Option<Proxy> {
        let runs = |path: &&str| Command::new(format!("{path}{name}")).arg("-v").output().is_ok();
        let Some(path) = PATHS.into_iter().find(runs) else {
            assert!(!other_programs_are_required(), "{name} is not installed");
            eprintln!("SKIPPED the certificates of {name}: it is not installed");
            return None;
        };
        let port = free_port();
        let file = self.written(&format!("{name}.cfg"), &configuration(port));
        let mut command = Command::new(format!("{path}{name}"));
        command.args(arguments).arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        let proxy = Proxy(command.spawn().unwrap(), port);
        let client = self.at(&proxy);
        until("the proxy", async || client.get("/health/live").await.status == 200).await;
        Some(proxy)
    }

    fn at(&self, proxy: &Proxy) -> Curl {
        Curl { base: format!("https://localhost:{}", proxy.1), ..self.client() }
    }

    /// Checks what devices with and without certificates get through a proxy.
    async fn check(&self, proxy: &Proxy) {
        let leaf = self.factory.issue("pump-1");
        let cert = self.written("cert.pem", &leaf.chain);
        let key = self.written("key.pem", &leaf.key);
        let device = self.at(proxy).with(&["--cert", &cert, "--key", &key]);
        assert_eq!(device.get(OWN).await.expect(200)["userName"], "device_pump-1");

        let stranger = Authority::new("factory").issue("pump-2");
        let (cert, key) = (self.written("c2.pem", &stranger.chain), self.written("k2.pem", &stranger.key));
        let refused = self.at(proxy).with(&["--cert", &cert, "--key", &key]).get(OWN).await;
        refused.expect_message(401, "not signed by the trusted authority");

        // The proxy removes the header of a client.
        let forged = format!("Client-Cert: {}", as_header(&leaf));
        self.at(proxy).with(&["-H", &forged]).get(OWN).await.expect(401);
        assert_eq!(
            device.with(&["-H", "Client-Cert: :AAAA:"]).get(OWN).await.expect(200)["userName"],
            "device_pump-1"
        );
    }
}

#[tokio::test]
async fn haproxy_forwards_the_certificates_of_its_clients() {
    let behind = Behind::start().await;
    let read = |file: PathBuf| std::fs::read_to_string(file).unwrap();
    let pair = read(behind.certificates.chain()) + &read(behind.certificates.key());
    let (pair, root) = (behind.written("pair.pem", &pair), behind.certificates.root_file());
    let configuration = |port| {
        format!(
            "defaults\n  mode http\n  timeout client 60s\n  timeout server 60s\n  timeout connect 5s\n\
             frontend devices\n  bind 127.0.0.1:{port} ssl crt {pair} ca-file {} verify optional crt-ignore-err all \
             ca-ignore-err all\n  http-request del-header Client-Cert\n  http-request set-header Client-Cert \
             :%[ssl_c_der,base64]: if {{ ssl_c_used }}\n  default_backend servers\n\
             backend servers\n  server web1 {}\n",
            root.display(),
            behind.server.address()
        )
    };
    let Some(proxy) = behind.proxy("haproxy", &["-db", "-f"], configuration).await else { return };

    behind.check(&proxy).await;
}

#[tokio::test]
async fn nginx_forwards_the_certificates_of_its_clients() {
    let behind = Behind::start().await;
    let scratch = behind.directory.path().display().to_string();
    let configuration = |port| {
        format!(
            "daemon off; master_process off; pid {scratch}/nginx.pid; error_log stderr; events {{}}\n\
             http {{ access_log off; client_body_temp_path {scratch}; proxy_temp_path {scratch}; fastcgi_temp_path \
             {scratch}; uwsgi_temp_path {scratch}; scgi_temp_path {scratch};\n\
             server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {}; ssl_certificate_key {}; ssl_verify_client \
             optional_no_ca;\n\
             location / {{ proxy_pass http://{}; proxy_set_header Client-Cert $ssl_client_escaped_cert; }} }} }}\n",
            behind.certificates.chain().display(),
            behind.certificates.key().display(),
            behind.server.address()
        )
    };
    let Some(proxy) = behind.proxy("nginx", &["-c"], configuration).await else { return };

    behind.check(&proxy).await;
}

#[tokio::test]
async fn header_that_is_not_one_certificate_is_refused() {
    let behind = Behind::start().await;
    let leaf = behind.factory.issue("pump-1");
    let good = format!("Client-Cert: {}", as_header(&leaf));
    assert_eq!(behind.client().with(&["-H", &good]).get(OWN).await.expect(200)["userName"], "device_pump-1");

    for headers in [
        &["-H", &*good, "-H", &*good][..],
        &["-H", "Client-Cert: :AAAA:"],
        &["-H", "Client-Cert: hello"],
        &["-H", "Client-Cert: ::"],
    ] {
        let refused = behind.client().with(headers).get(OWN).await;
        assert_eq!(refused.status, 401, "{headers:?}: {}", refused.text);
    }
    // A password goes before a certificate.
    let both = behind.admin().with(&["-H", &good]);
    assert_eq!(both.get(OWN).await.expect(200)["userName"], "admin");
    assert!(both.get("/user/main/users/device_pump-1").await.status == 200);
}

#[tokio::test]
async fn certificate_without_extensions_is_refused_with_a_hint() {
    let behind = Behind::start().await;
    let (ca, ca_key) = (
        behind.written("ca.pem", &behind.factory.issuer.pem()),
        behind.written("ca.key", &behind.factory.issuer.key().serialize_pem()),
    );
    let script = format!(
        "openssl ecparam -genkey -name prime256v1 -noout | openssl req -new -key /dev/stdin -subj /CN=pump-1 | \
         openssl x509 -req -CA {ca} -CAkey {ca_key} -set_serial 7 -days 9"
    );
    let made = Command::new("sh").args(["-c", &script]).output().unwrap();
    let chain = String::from_utf8(made.stdout).unwrap();
    let old = Leaf { name: "old".into(), chain, key: String::new(), serial: "7".into() };

    let header = format!("Client-Cert: {}", as_header(&old));

    let refused = behind.client().with(&["-H", &header]).get(OWN).await;
    refused.expect_message(401, "it is not of X.509 version 3");
}
