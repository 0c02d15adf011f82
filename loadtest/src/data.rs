//! The devices that `data-fill` creates and `data` reads, so that both know them without a request.

/// The id of device 0. The server's own ids are larger, because they rise with time.
const FIRST_DEVICE: u64 = 1_000_000_000;
/// A prime, so that neighbouring rows belong to different devices.
pub(crate) const STRIDE: u64 = 7919;

/// Returns the id of device `n`.
pub(crate) fn device_id(n: u64) -> u64 {
    FIRST_DEVICE + n
}
