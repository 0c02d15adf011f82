//! Devices get and renew certificates with openssl and curl, by Enrollment over Secure Transport (docs/rules.md#c-30).

use std::path::Path;

use super::*;

const OWN: &str = "/inventory/managedObjects?pageSize=1";
const EST: &str = "/.well-known/est";
const PASSWORD: &str = "one-time-password";

/// Makes the authority of tenant `main`, and registers a device with a one-time password.
async fn prepare(https: &Https, id: &str) {
    https.admin().send("POST", "/certificate-authority", &json!({})).await.expect(201);
    register(https, id).await;
}

async fn register(https: &Https, id: &str) {
    let request = json!({"id": id, "oneTimePassword": PASSWORD});
    https.admin().send("POST", "/devicecontrol/newDeviceRequests", &request).await.expect(201);
}

/// A device with a key that openssl made.
struct Device<'h> {
    https: &'h Https,
    id: String,
    key: PathBuf,
    certificate: PathBuf,
}

impl<'h> Device<'h> {
    fn new(https: &'h Https, id: &str, kind: &str) -> Self {
        let file = |name: &str| https.directory.path().join(format!("{}-{id}-{name}", next_number()));
        let (key, certificate) = (file("key.pem"), file("cert.pem"));
        let options = match kind {
            "EC" => "-algorithm EC -pkeyopt ec_paramgen_curve:P-256",
            "ED25519" => "-algorithm ED25519",
            _ => "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
        };
        shell(&format!("openssl genpkey {options} -out {}", key.display()));
        Self { https, id: id.to_owned(), key, certificate }
    }

    /// Returns a request for a certificate, as EST sends it.
    fn request(&self, name: &str) -> String {
        let command = format!("openssl req -new -subj '/CN={name}' -key {} -outform DER", self.key.display());
        shell(&format!("{command} | openssl base64 -e"))
    }

    async fn send(&self, client: &Curl, path: &str) -> Reply {
        self.send_request(client, path, &self.request(&self.id)).await
    }

    async fn send_request(&self, client: &Curl, path: &str, request: &str) -> Reply {
        let arguments = ["-X", "POST", "--data-binary", "@-", "-H", "Content-Type: application/pkcs10"];
        client.run(&format!("{EST}{path}"), &arguments, request).await
    }

    /// Sends the one-time password.
    async fn enroll(&self, password: &str) -> Reply {
        let user = format!("{}:{password}", self.id);
        self.send(&self.https.client().with(&["--user", &user]), "/simpleenroll").await
    }

    /// Keeps an issued certificate.
    fn keep(&self, reply: &Reply) {
        assert_eq!(reply.status, 200, "{}", reply.text);
        std::fs::write(&self.certificate, certificates(&reply.text)).unwrap();
    }

    /// Returns the device with the certificate that it has.
    fn client(&self) -> Curl {
        let (certificate, key) = (self.certificate.to_str().unwrap(), self.key.to_str().unwrap());
        self.https.client().with(&["--cert", certificate, "--key", key])
    }

    /// Returns what openssl says about the certificate.
    fn shown(&self) -> String {
        shell(&format!("openssl x509 -noout -text -in {}", self.certificate.display()))
    }
}

/// Returns the certificates of a response in PEM.
fn certificates(base64: &str) -> String {
    let mut child = Command::new("sh")
        .args(["-c", "openssl base64 -d | openssl pkcs7 -inform DER -print_certs"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(base64.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn shell(command: &str) -> String {
    let done = Command::new("sh").args(["-c", command]).output().unwrap();
    assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
async fn device_gets_a_certificate_and_renews_it() {
    let https = Https::start(1).await;
    prepare(&https, "pump-1").await;
    for (n, kind) in ["EC", "RSA", "ED25519"].into_iter().enumerate() {
        let id = format!("pump-{}", n + 1);
        if n > 0 {
            register(&https, &id).await;
        }
        let device = Device::new(&https, &id, kind);

        device.keep(&device.enroll(PASSWORD).await);

        let user = device.client().get("/user/currentUser").await.expect(200);
        assert_eq!(user["userName"], format!("device_{id}"));
        let first = device.shown();
        for part in ["TLS Web Client Authentication", "Digital Signature", "CA:FALSE", &format!("CN = {id}")]
        {
            assert!(first.contains(part), "{first} has no {part}");
        }

        device.keep(&device.send(&device.client(), "/simplereenroll").await);

        assert_ne!(device.shown(), first);
        device.client().get(OWN).await.expect(200);
        let path = format!("/tenant/tenants/main/device-certificates?user=device_{id}");
        let listed = https.admin().get(&path).await.expect(200);
        assert_eq!(listed["deviceCertificates"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn authorities_are_published_and_verify_what_they_issued() {
    let https = Https::start(1).await;
    assert_eq!(https.client().get(&format!("{EST}/cacerts")).await.status, 404);
    https.admin().get("/certificate-authority").await.expect(404);
    prepare(&https, "pump-1").await;
    let device = Device::new(&https, "pump-1", "EC");
    device.keep(&device.enroll(PASSWORD).await);

    for path in ["/cacerts", "/main/cacerts"] {
        let all = https.client().get(&format!("{EST}{path}")).await;
        assert_eq!(all.status, 200);
        let file: &Path = &https.directory.path().join("authorities.pem");
        std::fs::write(file, certificates(&all.text)).unwrap();
        shell(&format!(
            "openssl verify -purpose sslclient -CAfile {} {}",
            file.display(),
            device.certificate.display()
        ));
    }
    assert_eq!(https.client().get(&format!("{EST}/management/cacerts")).await.status, 404);
    let shown = https.admin().get("/certificate-authority").await.expect(200);
    assert_eq!(shown["tenantCertificateAuthority"], true);
    assert!(!shown.to_string().contains("PRIVATE"));
}

#[tokio::test]
async fn lost_response_is_repeated_for_the_same_key_only() {
    let https = Https::start(1).await;
    prepare(&https, "pump-1").await;
    let (device, thief) = (Device::new(&https, "pump-1", "EC"), Device::new(&https, "pump-1", "EC"));
    assert_eq!(device.enroll(PASSWORD).await.status, 200);

    device.keep(&device.enroll(PASSWORD).await);
    device.client().get(OWN).await.expect(200);

    thief.enroll(PASSWORD).await.expect_message(409, "used for another key");
}

#[tokio::test]
async fn wrong_password_other_name_and_other_body_are_refused() {
    let https = Https::start(1).await;
    let device = Device::new(&https, "pump-1", "EC");
    register(&https, "pump-1").await;
    device.enroll(PASSWORD).await.expect(404);
    https.admin().send("POST", "/certificate-authority", &json!({})).await.expect(201);

    device.enroll("wrong-password").await.expect(401);
    Device::new(&https, "pump-2", "EC").enroll(PASSWORD).await.expect(401);
    let client = https.client().with(&["--user", &format!("pump-1:{PASSWORD}")]);
    for (request, reason) in [
        (device.request("admin"), "must be 'pump-1'"),
        (device.request("pump-1/CN=admin"), "must be 'pump-1'"),
        ("AAAA".to_owned(), "it is not one of PKCS#10"),
        ("%%%".to_owned(), "expected PKCS#10"),
        (String::new(), "expected PKCS#10"),
    ] {
        device.send_request(&client, "/simpleenroll", &request).await.expect_message(422, reason);
    }
    let json = ["-X", "POST", "--data-binary", "@-", "-H", "Content-Type: application/json"];
    assert_eq!(client.run(&format!("{EST}/simpleenroll"), &json, "{}").await.status, 415);
    let other = https.client().with(&["--user", &format!("t9/pump-1:{PASSWORD}")]);
    device.send(&other, "/simpleenroll").await.expect(401);
    // Nothing of this used the password.
    device.keep(&device.enroll(PASSWORD).await);
}

#[tokio::test]
async fn forged_request_is_refused() {
    let https = Https::start(1).await;
    prepare(&https, "pump-1").await;
    let device = Device::new(&https, "pump-1", "EC");
    let client = https.client().with(&["--user", &format!("pump-1:{PASSWORD}")]);
    use base64::Engine;
    let engine = base64::engine::general_purpose::STANDARD;
    let text: String = device.request("pump-1").split_whitespace().collect();
    let mut der = engine.decode(text).unwrap();
    let last = der.len() - 1;
    der[last] ^= 1;

    device
        .send_request(&client, "/simpleenroll", &engine.encode(der))
        .await
        .expect_message(422, "not signed with its own key");
}

#[tokio::test]
async fn renewal_needs_a_certificate() {
    let https = Https::start(1).await;
    prepare(&https, "pump-1").await;
    let device = Device::new(&https, "pump-1", "EC");

    device.send(&https.client(), "/simplereenroll").await.expect(401);
    device.send(&https.admin(), "/simplereenroll").await.expect(403);
    device.send(&https.client(), "/simpleenroll").await.expect(401);
    device.keep(&device.enroll(PASSWORD).await);
    let request = device.request("pump-2");
    device
        .send_request(&device.client(), "/simplereenroll", &request)
        .await
        .expect_message(422, "must be 'pump-1'");
}

#[tokio::test]
async fn device_with_the_certificate_of_its_manufacturer_gets_one_of_the_platform() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    https
        .admin()
        .send("POST", "/certificate-authority", &json!({"deviceCertificateDays": 30}))
        .await
        .expect(201);
    let device = Device::new(&https, "pump-1", "EC");

    device.keep(&device.send(&https.device(&factory.issue("pump-1")), "/simpleenroll").await);

    device.client().get(OWN).await.expect(200);
    let end = time::OffsetDateTime::now_utc() + time::Duration::days(30);
    let year = end.year().to_string();
    assert!(device.shown().contains(&year), "{}", device.shown());
}

#[tokio::test]
async fn guesses_of_one_time_passwords_are_slowed_down() {
    let https = Https::start_with(1, |settings| settings.limits.credential_polls = 5).await;
    prepare(&https, "pump-1").await;
    let device = Device::new(&https, "pump-1", "EC");
    let mut refused = Vec::new();
    for _ in 0..7 {
        refused.push(device.enroll("wrong-password").await.status);
    }
    assert!(refused.contains(&429), "{refused:?}");
}

#[tokio::test]
async fn registration_with_a_one_time_password_gives_out_no_credentials() {
    let https = Https::start(1).await;
    prepare(&https, "pump-1").await;
    let bootstrap =
        https.client().with(&["--user", &format!("management/devicebootstrap:{BOOTSTRAP_PASSWORD}")]);
    let polls =
        async || bootstrap.send("POST", "/devicecontrol/deviceCredentials", &json!({"id": "pump-1"})).await;
    polls().await.expect(404);
    let accepted = json!({"status": "ACCEPTED"});
    https.admin().send("PUT", "/devicecontrol/newDeviceRequests/pump-1", &accepted).await.expect(200);

    polls().await.expect(404);

    let device = Device::new(&https, "pump-1", "EC");
    device.keep(&device.enroll(PASSWORD).await);
}
