//! A packet as a capture or a queue log holds it, before it is decoded.

use crate::packet::link_type::LinkType;
use crate::packet::refusal::PacketRefusal;

/// Twice the largest packet that Linux hands over in one piece (BIG TCP, 512 KiB); a longer one was not on a wire.
pub(crate) const LARGEST_PACKET_BYTES: u32 = 1 << 20;
/// The last time that a pcap can hold, in the year 2106; what is later, or before 1970, comes from damage.
const END_OF_TIME_NS: i64 = (1 << 32) * 1_000_000_000;

/// One packet as the capture holds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CapturedPacket<'c> {
    /// UTC epoch time in nanoseconds.
    pub(crate) time_ns: i64,
    /// Length on the wire with the link header.
    pub(crate) wire_bytes: u32,
    /// Link type of the interface.
    pub(crate) link: LinkType,
    /// The captured bytes, possibly fewer than were on the wire.
    pub(crate) frame: &'c [u8],
}

impl CapturedPacket<'_> {
    /// A time that no record can have, for one whose time contradicts its format.
    pub(crate) const NO_TIME_NS: i64 = i64::MIN;

    /// Why the record cannot be of a packet, if it cannot: by its time and its original length.
    pub(crate) fn implausible(&self) -> Option<PacketRefusal> {
        if !(0..END_OF_TIME_NS).contains(&self.time_ns) {
            Some(PacketRefusal::TimeImplausible)
        } else if self.wire_bytes > LARGEST_PACKET_BYTES {
            Some(PacketRefusal::LengthImplausible)
        } else {
            None
        }
    }
}
