//! TLS to PostgreSQL: the connections that each `sslmode` accepts and rejects.

use std::fs;
use std::path::PathBuf;

use platform_model::limits::Limits;
use platform_store::{Connections, Database};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use tempfile::TempDir;

use super::*;

/// The users that may connect: with TLS and a password, with TLS and a certificate, or with a password alone.
const RULES: &str = "hostssl all platform 127.0.0.1/32 scram-sha-256\n\
    hostssl all certified 127.0.0.1/32 cert\n\
    hostnossl all plain 127.0.0.1/32 scram-sha-256\n";

/// A PostgreSQL with a certificate for `localhost`, and the files of its clients.
struct Encrypted {
    cluster: Cluster,
    files: TempDir,
}

impl Encrypted {
    async fn start() -> Self {
        let cluster = Cluster::start("password_encryption = 'scram-sha-256'\n", RULES);
        let files = scratch();
        let authority = authority("authority");
        let (certificate, key) = certificate(&authority, "localhost", ExtendedKeyUsagePurpose::ServerAuth);
        cluster.write("server.crt", &certificate);
        cluster.write("server.key", &key);
        cluster.write("root.crt", &authority.pem());
        cluster.write("postgresql.auto.conf", "ssl = on\nssl_ca_file = 'root.crt'\n");
        cluster.reload();
        let encrypted = Self { cluster, files };
        let (certificate, key) =
            self::certificate(&authority, "certified", ExtendedKeyUsagePurpose::ClientAuth);
        encrypted.write("root.pem", &authority.pem());
        encrypted.write("client.pem", &certificate);
        encrypted.write("client.key", &key);
        encrypted.write("stranger.pem", &self::authority("stranger").pem());
        encrypted.write("nonsense.pem", "nonsense");
        let roles = "ALTER ROLE platform PASSWORD 'secret'; CREATE ROLE certified SUPERUSER LOGIN; \
            CREATE ROLE plain SUPERUSER LOGIN PASSWORD 'secret'";
        encrypted.by_socket().run_script(roles).await;
        // The migrations run once, so that each connection below needs none.
        database(&encrypted.cluster.url()).migrate().await.unwrap();
        encrypted
    }

    fn by_socket(&self) -> std::sync::Arc<TestDatabase> {
        TestDatabase::at(&self.cluster.url(), self.files.path())
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.file(name), content).unwrap();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Returns the connection string of a user with these parameters. `FILES/` stands for the directory of the files.
    fn url(&self, user: &str, host: &str, parameters: &str) -> String {
        let parameters = parameters.replace("FILES", self.files.path().to_str().unwrap());
        format!("postgres://{user}:secret@{host}:{}/platform?{parameters}", self.cluster.port())
    }
}

fn database(url: &str) -> Database {
    Database::new(url, Connections { reads: 1, devices: 1 }, &Limits::default()).unwrap()
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Returns a certificate for a name, and its key.
fn certificate(
    authority: &CertifiedIssuer<'static, KeyPair>,
    name: &str,
    usage: ExtendedKeyUsagePurpose,
) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![usage];
    (params.signed_by(&key, authority).unwrap().pem(), key.serialize_pem())
}

#[tokio::test]
async fn each_mode_accepts_what_it_promises_and_nothing_else() {
    let encrypted = Encrypted::start().await;
    let verified = "sslrootcert=FILES/root.pem";
    let identity = "sslcert=FILES/client.pem&sslkey=FILES/client.key";
    for (user, host, parameters, refusal) in [
        ("platform", "localhost", "sslmode=disable", Some("no pg_hba.conf entry")),
        ("platform", "localhost", "sslmode=allow", None),
        ("platform", "localhost", "", None),
        ("plain", "localhost", "", None),
        ("plain", "localhost", "sslmode=disable", None),
        ("plain", "localhost", "sslmode=require", Some("no pg_hba.conf entry")),
        ("platform", "localhost", "sslmode=require", None),
        ("platform", "127.0.0.1", "sslmode=require&channel_binding=require", None),
        ("platform", "127.0.0.1", &format!("sslmode=verify-ca&{verified}"), None),
        ("platform", "127.0.0.1", &format!("sslmode=require&{verified}"), None),
        ("platform", "localhost", &format!("sslmode=verify-full&{verified}"), None),
        ("platform", "127.0.0.1", &format!("sslmode=verify-full&{verified}"), Some("not valid for name")),
        ("platform", "localhost", "sslmode=verify-ca&sslrootcert=FILES/stranger.pem", Some("UnknownIssuer")),
        ("platform", "localhost", "sslmode=require&sslrootcert=FILES/stranger.pem", Some("UnknownIssuer")),
        ("certified", "localhost", "sslmode=require", Some("requires a valid client certificate")),
        ("certified", "localhost", &format!("sslmode=require&{identity}"), None),
        ("certified", "localhost", &format!("sslmode=verify-full&{verified}&{identity}"), None),
        ("platform", "localhost", &format!("sslmode=require&{identity}"), None),
    ] {
        let outcome = database(&encrypted.url(user, host, parameters)).migrate().await;

        match (refusal, outcome) {
            (None, outcome) => outcome.unwrap_or_else(|error| panic!("{user} {parameters}: {error}")),
            (Some(reason), Ok(())) => panic!("{user} {parameters} was accepted, not rejected by {reason}"),
            (Some(reason), Err(error)) => {
                let said = error.to_string();
                assert!(said.contains(reason) && !said.contains("secret"), "{user} {parameters}: {said}");
            }
        }
    }
}

#[tokio::test]
async fn server_without_tls_is_refused_where_tls_is_required() {
    let cluster = Cluster::start("", "host all all 127.0.0.1/32 trust\n");
    let url =
        |mode: &str| format!("postgres://platform@localhost:{}/platform?sslmode={mode}", cluster.port());

    let refused = database(&url("require")).migrate().await.unwrap_err().to_string();

    assert!(refused.contains("does not support TLS") && refused.contains("localhost:"), "{refused}");
    database(&url("prefer")).migrate().await.unwrap();
    let by_socket = format!("{} sslmode=require", cluster.url());
    database(&by_socket).migrate().await.unwrap();
}

#[tokio::test]
async fn every_connection_of_a_server_is_encrypted() {
    let encrypted = Encrypted::start().await;
    let url = encrypted.url("platform", "localhost", "sslmode=verify-full&sslrootcert=FILES/root.pem");
    let (_server, admin, device) =
        TestServer::start_on(&TestDatabase::at(&url, encrypted.files.path()), |_| {})
            .await
            .with_device("pump")
            .await;
    let session = admin.listen("/alarms/*").await;

    admin.raise_alarm(&device, "hot").await;

    session.receive(1).await;
    let statement = "SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
        WHERE application_name LIKE 'platform %'";
    let row = &encrypted.by_socket().query(statement, &[]).await[0];
    let (all, with_tls): (i64, i64) = (row.get(0), row.get(1));
    assert!(all == with_tls && all >= 5, "{with_tls} of {all}");
}

#[tokio::test]
async fn start_with_a_file_or_a_parameter_that_cannot_be_used_ends_with_one_line() {
    let files = scratch();
    fs::write(files.path().join("nonsense.pem"), "nonsense").unwrap();
    let at = files.path().to_str().unwrap();
    for (parameters, named) in [
        (format!("sslmode=verify-full&sslrootcert={at}/absent.pem"), "sslrootcert"),
        (format!("sslmode=verify-full&sslrootcert={at}/nonsense.pem"), "nonsense.pem"),
        (format!("sslcert={at}/nonsense.pem&sslkey={at}/nonsense.pem"), "sslcert"),
        ("sslmode=verify-full".into(), "sslrootcert"),
        ("sslpassword=x".into(), "unknown option `sslpassword`"),
    ] {
        let mut command = Program::command(files.path(), &[]);
        command.env("PLATFORM_DATABASE_URL", format!("postgres://u:geheim@127.0.0.1:1/d?{parameters}"));

        let output = run(command, "");

        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let errors: Vec<_> = said.lines().filter(|line| line.starts_with("error: ")).collect();
        // A parameter that cannot be used is an invalid setting (2); a file that cannot be used fails the start (1).
        assert!(matches!(output.status.code(), Some(1 | 2)) && errors.len() == 1, "{said}");
        assert!(errors[0].contains(named) && !said.contains("geheim"), "{said}");
    }
}
