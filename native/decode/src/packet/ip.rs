//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers, snapped or whole.

use std::net::{IpAddr, Ipv4Addr};

use etherparse::{Ipv6ExtensionSlice, Ipv6FragmentHeaderSlice, LaxIpSlice};

use crate::input::bytes::be_u32;
use crate::packet::fragments::FragmentKey;
use crate::packet::protocol::{PROTOCOL_TCP, PROTOCOL_UDP};
use crate::packet::refusal::PacketRefusal;

const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;

/// The network layer of a packet.
#[derive(Debug)]
pub(crate) struct Network<'p> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    /// The ECN field (RFC 3168, 5): 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub(crate) ecn: u8,
    pub(crate) hop_limit: u8,
    pub(crate) fragmented: bool,
    pub(crate) later_fragment: bool,
    pub(crate) id: u32,
    pub(crate) payload: &'p [u8],
    pub(crate) payload_bytes: usize,
}

impl Network<'_> {
    /// What its fragments have in common.
    pub(crate) fn fragment_key(&self) -> FragmentKey {
        FragmentKey {
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            id: self.id,
        }
    }
}

/// The network layer of `bytes`, of which `wire_bytes` were on the wire.
///
/// A header that declares more than was on the wire has the payload that was there. Refuses headers that are cut or
/// contradict themselves.
#[inline]
pub(crate) fn network(bytes: &[u8], wire_bytes: usize) -> Result<Network<'_>, PacketRefusal> {
    match plain_ipv4(bytes, wire_bytes) {
        Some(network) => Ok(network),
        None => any(bytes, wire_bytes),
    }
}

/// IPv4 without options and fragments over TCP or UDP, which nearly every packet is; anything else, and anything
/// odd, is left to [`any`]. It takes a fifth of the time there.
fn plain_ipv4(bytes: &[u8], wire_bytes: usize) -> Option<Network<'_>> {
    let (header, rest) = bytes.split_first_chunk::<IPV4_HEADER_BYTES>()?;
    let [
        0x45,
        class,
        total_high,
        total_low,
        id_high,
        id_low,
        fragment_high,
        fragment_low,
        hop_limit,
        protocol @ (PROTOCOL_TCP | PROTOCOL_UDP),
        _,
        _,
        ..,
    ] = *header
    else {
        return None;
    };
    // As numbers: four bytes that are written one by one and read as one word wait for one another.
    let address = |place| Some(IpAddr::V4(Ipv4Addr::from_bits(be_u32(header, place)?)));
    let total_bytes = usize::from(u16::from_be_bytes([total_high, total_low]));
    if fragment_high & 0x3f != 0
        || fragment_low != 0
        || total_bytes < IPV4_HEADER_BYTES
        || total_bytes > wire_bytes
    {
        return None;
    }
    let payload_bytes = total_bytes - IPV4_HEADER_BYTES;
    Some(Network {
        source: address(12)?,
        destination: address(16)?,
        protocol,
        ecn: class & 3,
        hop_limit,
        fragmented: false,
        later_fragment: false,
        id: u16::from_be_bytes([id_high, id_low]).into(),
        payload: rest.get(..payload_bytes).unwrap_or(rest),
        payload_bytes,
    })
}

/// Any IP packet; what the header does not state is measured by the frame.
fn any(bytes: &[u8], wire_bytes: usize) -> Result<Network<'_>, PacketRefusal> {
    let cut = bytes.len() < wire_bytes;
    let broken = || {
        if cut {
            PacketRefusal::IpHeaderCut
        } else {
            PacketRefusal::IpHeaderInvalid
        }
    };
    let (ip, stop) = LaxIpSlice::from_slice(bytes).map_err(|_| broken())?;
    let payload = ip.payload().clone();
    let network = match &ip {
        LaxIpSlice::Ipv4(slice) => {
            let header = slice.header();
            let header_bytes = header.slice().len();
            let declared = usize::from(header.total_len());
            // Segmentation offload leaves the length at 0; a length below the header says nothing either.
            let whole = if declared < header_bytes {
                wire_bytes
            } else {
                declared.min(wire_bytes)
            };
            let extension_bytes = usize::from(slice.extensions().auth.is_some())
                * slice
                    .extensions()
                    .auth
                    .as_ref()
                    .map_or(0, |auth| auth.slice().len());
            Network {
                source: header.source_addr().into(),
                destination: header.destination_addr().into(),
                protocol: payload.ip_number.0,
                ecn: header.ecn().value(),
                hop_limit: header.ttl(),
                fragmented: header.more_fragments(),
                later_fragment: header.fragments_offset().value() != 0,
                id: header.identification().into(),
                payload: payload.payload,
                payload_bytes: whole.saturating_sub(header_bytes + extension_bytes),
            }
        }
        LaxIpSlice::Ipv6(slice) => {
            let header = slice.header();
            let declared = usize::from(header.payload_length());
            // 0 means a jumbogram or segmentation offload; both are measured by the frame.
            let there = wire_bytes.saturating_sub(IPV6_HEADER_BYTES);
            let whole = if declared == 0 { there } else { declared.min(there) };
            let fragment = payload
                .fragmented
                .then(|| {
                    slice
                        .extensions()
                        .clone()
                        .into_iter()
                        .find_map(|extension| match extension {
                            Ipv6ExtensionSlice::Fragment(fragment) => Some(fragment),
                            _ => None,
                        })
                })
                .flatten();
            Network {
                source: header.source_addr().into(),
                destination: header.destination_addr().into(),
                protocol: payload.ip_number.0,
                ecn: header.traffic_class() & 3,
                hop_limit: header.hop_limit(),
                fragmented: fragment
                    .as_ref()
                    .is_some_and(Ipv6FragmentHeaderSlice::more_fragments),
                later_fragment: fragment
                    .as_ref()
                    .is_some_and(|fragment| fragment.fragment_offset().value() != 0),
                id: fragment
                    .as_ref()
                    .map_or(0, Ipv6FragmentHeaderSlice::identification),
                payload: payload.payload,
                payload_bytes: whole.saturating_sub(slice.extensions().slice().len()),
            }
        }
    };
    // The bytes of a later fragment are not a header of the next layer, even if they look like one.
    if network.later_fragment {
        return Ok(network);
    }
    if stop.is_some() {
        return Err(broken());
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_capture::tcp_frame;

    #[test]
    fn the_short_way_and_the_whole_parser_agree() {
        let mut frame = tcp_frame(1, 100);
        frame[15] = 3;
        for (place, value) in [
            (0, 0),
            (15, 1),
            (17, 39),
            (17, 200),
            (20, 0x40),
            (22, 9),
            (23, 17),
        ] {
            let mut changed = frame.clone();
            changed[place] = value;
            for captured_bytes in [34, 50, 60, changed.len()] {
                let bytes = &changed[14..captured_bytes];
                if let Some(short) = plain_ipv4(bytes, changed.len() - 14) {
                    assert_eq!(
                        format!("{short:?}"),
                        format!("{:?}", any(bytes, changed.len() - 14).unwrap())
                    );
                }
            }
        }
    }
}
