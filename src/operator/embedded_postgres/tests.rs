//! Tests the private PostgreSQL with the installed programs, as root or as another account.

use std::{
    io::{BufRead, BufReader},
    mem,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Command, Stdio},
    sync::{Arc, Mutex, Weak},
    thread,
};

use rustix::process::{Pid, Signal, kill_process};

use super::*;

/// The longest wait for an event that usually takes a fraction of this time.
const PATIENCE: Duration = Duration::from_secs(20);
/// The variable that tells the helper process its data directory.
const HELPER_DATA_DIR: &str = "EMBEDDED_POSTGRES_TEST_DATA_DIR";

/// Creates a directory that the account of the database can enter even if root created it.
fn scratch() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o711)).unwrap();
    directory
}

/// A directory with the data of a database that has started once.
struct Data {
    directory: tempfile::TempDir,
    /// The original, which stays for the tests that run at the same time.
    _first: Arc<tempfile::TempDir>,
}

impl Data {
    /// Copies the data of a first start, which takes a second of CPU time.
    fn new() -> Self {
        static FIRST: Mutex<Weak<tempfile::TempDir>> = Mutex::new(Weak::new());
        let mut known = FIRST.lock().unwrap();
        let first = known.upgrade().unwrap_or_else(|| {
            let first = Arc::new(scratch());
            drop(EmbeddedPostgres::start(options(first.path())).unwrap());
            *known = Arc::downgrade(&first);
            first
        });
        drop(known);
        let directory = scratch();
        let mut copy = Command::new("cp");
        copy.args(["--archive", "--no-target-directory"]).args([first.path(), directory.path()]);
        assert!(copy.status().unwrap().success(), "the data of a first start are not copied");
        Self { directory, _first: first }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn options(data_dir: &Path) -> Options {
    // The directory that the tests use in place of the newest installed PostgreSQL.
    let bin_dir = std::env::var_os("PLATFORM_POSTGRES_BIN_DIR").map(PathBuf::from);
    Options { data_dir: data_dir.into(), bin_dir, durability: Durability::Disposable, least_free: 0 }
}

fn server_of(data_dir: &Path) -> Option<i32> {
    PidFile::live(&fs::canonicalize(data_dir).unwrap().join("postgres")).map(|file| file.pid)
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain for: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a statement in single-user mode on a stopped database, because the machine may have no client program.
fn databases(postgres: &Launch) -> String {
    let mut single = account::command(&postgres.binaries.program("postgres"), postgres.account.as_ref());
    single.arg("--single").arg("-D").arg(&postgres.cluster).arg("platform").stdin(Stdio::piped());
    let mut child = single.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let statement = "SELECT datname, pg_encoding_to_char(encoding), datcollate FROM pg_database\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), statement.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn first_start_creates_the_database_and_later_starts_keep_it() {
    let directory = scratch();
    let data_dir = directory.path().join("data");

    let mut first = EmbeddedPostgres::start(options(&data_dir)).unwrap();
    let url = first.database_url();
    first.stop();
    let listed = databases(&first.launch);
    drop(first);
    let second = EmbeddedPostgres::start(options(&data_dir)).unwrap();

    assert!(listed.contains("datname = \"platform\""), "{listed}");
    assert!(listed.contains("\"UTF8\"") && listed.contains("datcollate = \"C\""), "{listed}");
    assert_eq!(second.database_url(), url);
    assert!(url.starts_with("host=/") && url.ends_with("/data/run user=platform dbname=platform"), "{url}");
    assert!(std::os::unix::net::UnixStream::connect(second.socket_dir().join(data_dir::SOCKET_NAME)).is_ok());
    for (path, mode) in [("postgres", 0o700), ("run", 0o700), ("postgres.log", 0o600)] {
        assert_eq!(fs::metadata(data_dir.join(path)).unwrap().permissions().mode() & 0o777, mode, "{path}");
    }
}

#[test]
fn half_first_start_is_done_again() {
    let directory = scratch();
    let unfinished = directory.path().join("postgres.unfinished");
    fs::create_dir_all(unfinished.join("base")).unwrap();
    fs::write(unfinished.join("PG_VERSION"), "15\n").unwrap();

    EmbeddedPostgres::start(options(directory.path())).unwrap();

    assert!(!unfinished.exists());
}

#[test]
fn first_start_waits_for_the_programs_of_one_that_was_killed() {
    let directory = scratch();
    let unfinished = directory.path().join("postgres.unfinished");
    fs::create_dir_all(unfinished.join("base")).unwrap();
    let orphan = thread::spawn(move || {
        // This loop imitates initdb, which continues to write and ends when its directory is gone.
        let written = (0..).take_while(|n| {
            thread::sleep(Duration::from_millis(5));
            fs::write(unfinished.join(format!("base/{n}")), "x").is_ok()
        });
        written.count()
    });

    let postgres = EmbeddedPostgres::start(options(directory.path()));

    assert!(postgres.is_ok(), "{:?}", postgres.err());
    assert!(orphan.join().unwrap() > 0);
    let left = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("unfinished")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn directory_holds_a_database_after_the_first_start() {
    let directory = scratch();
    assert!(!holds_database(directory.path()).unwrap());
    assert!(!holds_database(&directory.path().join("absent")).unwrap());

    drop(EmbeddedPostgres::start(options(directory.path())).unwrap());

    assert!(holds_database(directory.path()).unwrap());
}

#[test]
fn second_server_on_the_same_data_directory_is_refused() {
    let directory = Data::new();
    let first = EmbeddedPostgres::start(options(directory.path())).unwrap();

    let refused = EmbeddedPostgres::start(options(directory.path())).unwrap_err();

    assert!(matches!(refused, StartError::InUse { .. }), "{refused}");
    assert_eq!(server_of(directory.path()), first.child.as_ref().map(|child| child.id() as i32));
}

#[test]
fn running_database_is_found_by_commands_beside_the_server() {
    let directory = scratch();
    assert_eq!(running_database_url(directory.path()), None);

    let mut postgres = EmbeddedPostgres::start(options(directory.path())).unwrap();
    assert_eq!(running_database_url(directory.path()), Some(postgres.database_url()));

    postgres.stop();
    assert_eq!(running_database_url(directory.path()), None);
}

#[test]
fn orphan_of_a_crashed_server_is_stopped_and_replaced() {
    let directory = Data::new();
    let crashed = EmbeddedPostgres::start(options(directory.path())).unwrap();
    let orphan = server_of(directory.path()).unwrap();
    crashed._lock.unlock().unwrap();
    mem::forget(crashed);

    let postgres = EmbeddedPostgres::start(options(directory.path())).unwrap();

    assert_ne!(server_of(directory.path()), Some(orphan));
    assert_eq!(server_of(directory.path()), postgres.child.as_ref().map(|child| child.id() as i32));
}

#[test]
fn pid_file_whose_number_went_to_another_process_does_not_stop_a_start() {
    let directory = Data::new();
    let mut postgres = EmbeddedPostgres::start(options(directory.path())).unwrap();
    let pid_file = fs::read_to_string(PidFile::path(&postgres.launch.cluster)).unwrap();
    signal(server_of(directory.path()).unwrap(), Signal::QUIT);
    // PostgreSQL removes its pid file slightly before its process ends.
    wait_until("the end of the server", || postgres.child.as_mut().unwrap().try_wait().unwrap().is_some());
    let launch = &postgres.launch;
    let mut sleeper =
        account::command(Path::new("/bin/sleep"), launch.account.as_ref()).arg("60").spawn().unwrap();
    let (_, rest) = pid_file.split_once('\n').unwrap();
    for path in [PidFile::path(&launch.cluster), launch.socket_dir.join(".s.PGSQL.5432.lock")] {
        fs::write(path, format!("{}\n{rest}", sleeper.id())).unwrap();
    }

    assert_eq!(postgres.supervise().unwrap(), Supervision::Waiting);
    wait_until("the pause", || Instant::now() >= postgres.next_attempt);
    let supervised = postgres.supervise();
    let spared = sleeper.try_wait().unwrap().is_none();
    sleeper.kill().and_then(|()| sleeper.wait()).unwrap();

    assert!(matches!(supervised, Ok(Supervision::Restarted)), "{supervised:?}");
    assert!(spared, "a process that is not ours is not signalled");
}

#[test]
fn ended_server_is_started_again() {
    let directory = Data::new();
    let mut postgres = EmbeddedPostgres::start(options(directory.path())).unwrap();
    assert_eq!(postgres.supervise().unwrap(), Supervision::Running);

    for cause in [Signal::KILL, Signal::INT] {
        let killed = server_of(directory.path()).unwrap();
        signal(killed, cause);
        let since = Instant::now();
        // An attempt may come too early, while processes of a killed server are still ending.
        wait_until("the restart", || matches!(postgres.supervise(), Ok(Supervision::Restarted)));

        assert!(since.elapsed() < Duration::from_secs(5), "{cause:?} took {:?}", since.elapsed());
        assert_ne!(server_of(directory.path()), Some(killed));
    }
}

#[test]
fn failed_start_shows_the_end_of_the_log() {
    let directory = Data::new();
    let configuration = directory.path().join("postgres/postgresql.conf");
    fs::write(&configuration, "no_such_setting = 1\n").unwrap();

    let refused = EmbeddedPostgres::start(options(directory.path())).unwrap_err();

    assert!(matches!(&refused, StartError::NotReady { .. }), "{refused}");
    assert!(refused.to_string().contains("no_such_setting"), "{refused}");
}

#[test]
fn data_below_a_directory_closed_to_the_account_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return; // The database then runs as ourselves, and enters what we enter.
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();

    let refused = EmbeddedPostgres::start(options(&directory.path().join("data"))).unwrap_err();

    assert!(
        matches!(&refused, StartError::Impassable { directory: closed, .. } if closed == directory.path())
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn start_that_fails_leaves_no_directory_behind() {
    let directory = scratch();
    let without_programs =
        |data_dir: &Path| Options { bin_dir: Some("/nowhere".into()), ..options(data_dir) };

    for path in ["data", "outer/inner/data"] {
        let refused = EmbeddedPostgres::start(without_programs(&directory.path().join(path))).unwrap_err();
        assert!(matches!(&refused, StartError::UnusableBinDir { .. }), "{refused}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{path} is left");
    }
    let existing = directory.path().join("existing");
    fs::create_dir(&existing).unwrap();
    EmbeddedPostgres::start(without_programs(&existing)).unwrap_err();
    assert!(existing.exists(), "a directory of somebody else stays");
}

#[test]
fn database_ends_with_a_server_that_is_killed() {
    let directory = Data::new();
    let mut helper = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--ignored",
            "--nocapture",
            "embedded_postgres::tests::starts_and_waits_to_be_killed",
        ])
        .env(HELPER_DATA_DIR, directory.path())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(helper.stdout.take().unwrap()).lines();
    let tied = lines.find_map(|line| line.unwrap().strip_prefix("tied: ").map(str::to_owned)).unwrap();
    let orphan = server_of(directory.path()).unwrap();

    helper.kill().and_then(|()| helper.wait()).unwrap();

    if tied == "true" {
        wait_until("the end of the database", || server_of(directory.path()).is_none());
    }
    let postgres = EmbeddedPostgres::start(options(directory.path())).unwrap();
    assert_ne!(server_of(directory.path()), Some(orphan));
    drop(postgres);
}

/// The process that [`database_ends_with_a_server_that_is_killed`] kills.
#[test]
#[ignore = "started by another test"]
fn starts_and_waits_to_be_killed() {
    let Some(data_dir) = std::env::var_os(HELPER_DATA_DIR) else { return };
    let postgres = EmbeddedPostgres::start(options(Path::new(&data_dir))).unwrap();
    println!("\ntied: {}", postgres.launch.setpriv().is_some());
    thread::sleep(PATIENCE * 10);
}
