//! Monitors the free space on the disks under the data.
//!
//! When PostgreSQL finds no space for its write-ahead log, it ends and does not start again, so that data can be
//! neither read nor deleted. Writes are therefore rejected while some space is still free. A quarter of that space is
//! in a reserve file, which is removed when others, such as the log of another program, continue to fill the disk. It
//! is created again when there is enough space.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use platform_front::telemetry;
use platform_store::Room;
use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// The disks of a data directory.
#[derive(Debug)]
pub(super) struct Disk {
    /// The directories to which PostgreSQL writes: an operator may have placed the write-ahead log on a separate disk.
    places: [PathBuf; 2],
    reserve: PathBuf,
    /// Writes are rejected while fewer bytes are free; 0 means never.
    least_free: u64,
    room: Room,
    /// The free bytes that were found last.
    last_free: Option<u64>,
    /// Whether creating the reserve has failed, for example because the file system cannot preallocate files.
    reserves_nothing: bool,
}

impl Disk {
    /// Creates the monitor of the data in `cluster`, with the file `reserve`.
    pub(super) fn new(cluster: PathBuf, reserve: PathBuf, least_free: u64) -> Self {
        let places = [cluster.join("pg_wal"), cluster];
        Self { places, reserve, least_free, room: Room::Enough, last_free: None, reserves_nothing: false }
    }

    /// Checks the free space, removes or recreates the reserve, and logs changes.
    pub(super) fn check(&mut self) -> Room {
        if self.least_free == 0 {
            self.give_reserve_away();
            return Room::Enough;
        }
        match self.free() {
            Ok(free) => self.judge(free),
            Err(error) => tracing::warn!(%error, "the disk of the data directory cannot be checked"),
        }
        self.room
    }

    /// Returns the free bytes that were found last.
    pub(super) fn last_free(&self) -> Option<u64> {
        self.last_free
    }

    /// Returns the free bytes of the fuller disk, without those that are reserved for root.
    fn free(&self) -> io::Result<u64> {
        let mut least = u64::MAX;
        for place in &self.places {
            let disk = statvfs(place)?;
            least = least.min(disk.f_bavail.saturating_mul(disk.f_frsize));
        }
        Ok(least)
    }

    fn judge(&mut self, free: u64) {
        telemetry::set_free_disk(free);
        self.last_free = Some(free);
        let before = self.room;
        self.room = room(before, free, self.least_free);
        if free < self.share() && self.give_reserve_away() {
            tracing::error!(
                free_bytes = free,
                "the disk of the data directory is full: its reserve is used up now"
            );
        }
        match (before, self.room) {
            (Room::Enough, Room::Scarce) => tracing::error!(
                free_bytes = free,
                least_free_bytes = self.least_free,
                "the disk of the data directory is nearly full: writes are rejected with 503 until there is space, \
                 reading and deleting go on"
            ),
            (Room::Scarce, Room::Enough) => {
                tracing::info!(free_bytes = free, "there is space on the disk of the data directory again");
            }
            _ => {}
        }
        // The reserve must not use the space that was just found to be enough.
        if self.room == Room::Enough && free >= enough_again(self.least_free) + self.share() {
            self.make_reserve();
        }
    }

    /// Returns the size of the reserve in bytes.
    fn share(&self) -> u64 {
        self.least_free / 4
    }

    /// Removes the reserve. Returns whether there was one.
    fn give_reserve_away(&self) -> bool {
        fs::remove_file(&self.reserve).is_ok()
    }

    fn make_reserve(&mut self) {
        let is_there = fs::metadata(&self.reserve).is_ok_and(|file| file.len() == self.share());
        if is_there || self.reserves_nothing {
            return;
        }
        if let Err(error) = self.set_apart() {
            self.reserves_nothing = true;
            self.give_reserve_away();
            tracing::warn!(%error, file = %self.reserve.display(), "the reserve for a full disk cannot be created");
        }
    }

    fn set_apart(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file: File = options.write(true).create(true).truncate(true).mode(0o600).open(&self.reserve)?;
        Ok(fallocate(&file, FallocateFlags::empty(), 0, self.share())?)
    }
}

/// Returns whether this number of free bytes is enough. The threshold for accepting writes again is slightly higher
/// than the one for rejecting them, so that the state does not alternate.
fn room(before: Room, free: u64, least_free: u64) -> Room {
    let wanted = match before {
        Room::Enough => least_free,
        Room::Scarce => enough_again(least_free),
    };
    if free < wanted { Room::Scarce } else { Room::Enough }
}

fn enough_again(least_free: u64) -> u64 {
    least_free + least_free / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A disk that counts as full below 80 MiB, so that its reserve has 20 MiB.
    fn disk(directory: &tempfile::TempDir) -> Disk {
        let cluster = directory.path().join("postgres");
        fs::create_dir_all(cluster.join("pg_wal")).unwrap();
        Disk::new(cluster, directory.path().join("reserve"), 80 * MIB)
    }

    fn reserved(disk: &Disk) -> Option<u64> {
        fs::metadata(&disk.reserve).ok().map(|file| file.len())
    }

    #[test]
    fn writes_stop_below_the_mark_and_continue_a_little_above_it() {
        let told = |before, free| room(before, free * MIB, 80 * MIB);

        assert_eq!([told(Room::Enough, 80), told(Room::Enough, 79)], [Room::Enough, Room::Scarce]);
        assert_eq!([told(Room::Scarce, 89), told(Room::Scarce, 90)], [Room::Scarce, Room::Enough]);
    }

    #[test]
    fn reserve_is_given_away_when_the_disk_is_full_and_made_again_when_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = disk(&directory);

        // Each pair: the free bytes, and the expected size of the reserve.
        for (free, wanted) in [
            (109, None),
            (110, Some(20 * MIB)),
            (79, Some(20 * MIB)),
            (20, Some(20 * MIB)),
            (19, None),
            (39, None),
            (109, None),
            (110, Some(20 * MIB)),
        ] {
            disk.judge(free * MIB);
            assert_eq!(reserved(&disk), wanted, "{free} MiB are free");
        }
    }

    #[test]
    fn reserve_takes_room_on_the_disk() {
        use std::os::unix::fs::MetadataExt;
        let directory = tempfile::tempdir().unwrap();
        let mut disk = disk(&directory);

        disk.judge(110 * MIB);

        let blocks = fs::metadata(&disk.reserve).unwrap().blocks();
        assert!(blocks * 512 >= 20 * MIB, "{blocks} blocks");
    }

    #[test]
    fn true_disk_is_looked_at_and_no_mark_means_always_room() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = disk(&directory);
        disk.judge(110 * MIB);

        let free = disk.free().unwrap();
        disk.least_free = 1 << 60;
        let seen = disk.check();
        disk.least_free = 0;

        assert!(free > 0 && free < 1 << 60, "{free}");
        assert_eq!((seen, disk.check(), reserved(&disk)), (Room::Scarce, Room::Enough, None));
    }
}
