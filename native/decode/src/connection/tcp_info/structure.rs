//! The kernel's `struct tcp_info` (include/uapi/linux/tcp.h), at whatever length a kernel gave it.

use crate::input::bytes::{le_u32, le_u64};

/// The kernel's value of `tcpi_min_rtt` where there is none.
const MIN_RTT_UNSET: u32 = u32::MAX;

/// Fields of `struct tcp_info` that snapshots use; `None` where the kernel's structure ends before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    pub(crate) state: Option<u8>,
    pub(crate) sending_mss_bytes: Option<u32>,
    pub(crate) unacked_packets: Option<u32>,
    pub(crate) lost_packets: Option<u32>,
    pub(crate) rtt_us: Option<u32>,
    pub(crate) rttvar_us: Option<u32>,
    pub(crate) cwnd_packets: Option<u32>,
    pub(crate) total_retransmits: Option<u32>,
    pub(crate) acked_bytes: Option<u64>,
    pub(crate) received_bytes: Option<u64>,
    /// As the kernel gives it, with 2^32 - 1 where it is unset.
    pub(crate) min_rtt_us: Option<u32>,
    pub(crate) delivery_rate_bytes_per_s: Option<u64>,
    pub(crate) sent_bytes: Option<u64>,
    pub(crate) retransmitted_bytes: Option<u64>,
}

impl TcpInfo {
    /// Decode the attribute `INET_DIAG_INFO`; numbers stand in the byte order of the host, which is taken as little-endian.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        Self {
            state: bytes.first().copied(),
            sending_mss_bytes: le_u32(bytes, 16),
            unacked_packets: le_u32(bytes, 24),
            lost_packets: le_u32(bytes, 32),
            rtt_us: le_u32(bytes, 68),
            rttvar_us: le_u32(bytes, 72),
            cwnd_packets: le_u32(bytes, 80),
            total_retransmits: le_u32(bytes, 100),
            acked_bytes: le_u64(bytes, 120),
            received_bytes: le_u64(bytes, 128),
            min_rtt_us: le_u32(bytes, 148),
            delivery_rate_bytes_per_s: le_u64(bytes, 160),
            sent_bytes: le_u64(bytes, 200),
            retransmitted_bytes: le_u64(bytes, 208),
        }
    }

    /// The smoothed RTT; 0 means that there was no sample yet.
    pub(crate) fn smoothed_rtt_us(&self) -> Option<u32> {
        self.rtt_us.filter(|rtt| *rtt > 0)
    }

    /// The windowed minimum; 2^32 - 1 means that it is unset.
    pub(crate) fn kernel_min_rtt_us(&self) -> Option<u32> {
        self.min_rtt_us.filter(|rtt| *rtt != MIN_RTT_UNSET && *rtt > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_structure_of_an_older_kernel_has_fewer_fields() {
        let mut bytes = vec![0u8; 232];
        bytes[0] = 1;
        bytes[68..72].copy_from_slice(&25_000u32.to_le_bytes());
        bytes[148..152].copy_from_slice(&MIN_RTT_UNSET.to_le_bytes());
        bytes[200..208].copy_from_slice(&77u64.to_le_bytes());
        let whole = TcpInfo::decode(&bytes);
        assert_eq!(
            (whole.smoothed_rtt_us(), whole.sent_bytes),
            (Some(25_000), Some(77))
        );
        assert_eq!(
            (whole.min_rtt_us, whole.kernel_min_rtt_us()),
            (Some(MIN_RTT_UNSET), None)
        );
        let older = TcpInfo::decode(&bytes[..192]);
        assert_eq!((older.smoothed_rtt_us(), older.sent_bytes), (Some(25_000), None));
        assert_eq!(TcpInfo::decode(&bytes[..104]).min_rtt_us, None);
        assert_eq!(TcpInfo::decode(&[]), TcpInfo::default());
        bytes[68..72].fill(0);
        assert_eq!(TcpInfo::decode(&bytes).smoothed_rtt_us(), None);
    }
}
