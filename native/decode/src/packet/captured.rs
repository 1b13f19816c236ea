//! A packet as a capture or a queue log holds it, before it is decoded.

use crate::packet::link_type::LinkType;

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
