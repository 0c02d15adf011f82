//! The devices that `data-fill` makes and `data` reads, so that both know them without asking.

/// Id of device 0; what the server makes itself has larger ids, for they rise with time.
const FIRST_DEVICE: u64 = 1_000_000_000;
/// A prime, so that neighbouring rows belong to different devices.
pub(crate) const STRIDE: u64 = 7919;

/// Id of device `n`.
pub(crate) fn device_id(n: u64) -> u64 {
    FIRST_DEVICE + n
}
