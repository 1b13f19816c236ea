//! A decoded packet: its ends, and what its headers say.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::output::decoded::decoded;
use crate::packet::tcp_options::TcpOptions;

/// One end of a packet; the port is 0 where the protocol has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Endpoint {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
}

/// The fields of a TCP header that the analysis uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpSegment {
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    pub(crate) flags: u16,
    pub(crate) window: u16,
    pub(crate) checksum: u16,
    pub(crate) options: TcpOptions,
}

impl TcpSegment {
    pub(crate) const FIN: u16 = 0x01;
    pub(crate) const SYN: u16 = 0x02;
    pub(crate) const RST: u16 = 0x04;
    pub(crate) const ACK: u16 = 0x10;
    pub(crate) const ECE: u16 = 0x40;
    pub(crate) const CWR: u16 = 0x80;
    /// The bit that was the nonce sum (RFC 3540) and is Accurate ECN's (RFC 9768).
    pub(crate) const AE: u16 = 0x100;

    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

impl Packet<'_> {
    /// Whether the packet is marked Congestion Experienced.
    pub(crate) fn congestion_experienced(&self) -> bool {
        self.ecn == 3
    }

    /// A later fragment of a packet without its payload.
    pub(crate) fn of_fragment(&self) -> Packet<'static> {
        Packet {
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            ecn: self.ecn,
            payload_bytes: self.payload_bytes,
            tunnels: self.tunnels,
            ip_id: self.ip_id,
            hop_limit: self.hop_limit,
            ip_payload: &[],
            transport: Transport::Fragment,
        }
    }

    /// Whether its sender accepts a connection: it is a SYN-ACK.
    pub(crate) fn answers_a_syn(&self) -> bool {
        matches!(self.transport, Transport::Tcp(segment) if segment.has(TcpSegment::SYN) && segment.has(TcpSegment::ACK))
    }
}

/// What is above IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport<'p> {
    Tcp(TcpSegment),
    /// The captured part of the UDP payload.
    Udp(&'p [u8]),
    /// A later fragment: of its transport layer only the ports are known, from the first one.
    Fragment,
    Other,
}

/// A decoded packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'p> {
    pub(crate) source: Endpoint,
    pub(crate) destination: Endpoint,
    pub(crate) protocol: u8,
    /// The ECN field (RFC 3168, 5): 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub(crate) ecn: u8,
    /// Payload of the transport layer in its original length.
    pub(crate) payload_bytes: u32,
    /// What carried the packet, where it was inside another one.
    pub(crate) tunnels: Tunnels,
    /// Identification of IPv4, or of an IPv6 fragment header; 0 where there is none.
    pub(crate) ip_id: u32,
    pub(crate) hop_limit: u8,
    /// The captured part of what follows the IP header.
    pub(crate) ip_payload: &'p [u8],
    pub(crate) transport: Transport<'p>,
}

decoded! {
    /// An encapsulation that was undone.
    pub(crate) enum Tunnel of "tunnel" {
        IpInIp = "ip-in-ip": "IPv4 or IPv6 in either of them (RFC 2003, RFC 4213, RFC 2473)",
        Gre = "gre": "GRE with IP, Ethernet or ERSPAN inside (RFC 2784, RFC 2890), and PPTP's with PPP (RFC 2637)",
        GreInUdp = "gre-in-udp": "the same GRE on UDP port 4754 (RFC 8086)",
        Vxlan = "vxlan": "VXLAN on UDP ports 4789 and 8472 (RFC 7348)",
        Geneve = "geneve": "Geneve on UDP port 6081 with its options (RFC 8926)",
        GtpU = "gtp-u": "GTP-U on UDP port 2152 with its extension headers (3GPP TS 29.281)",
        Teredo = "teredo": "IPv6 on UDP port 3544, or between addresses of Teredo on any port (RFC 4380)",
    }
}

/// Encapsulations that are undone one inside the other.
pub(crate) const TUNNEL_LEVELS: usize = 2;

/// The encapsulations that a packet was in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tunnels {
    outer: Option<Tunnel>,
    inner: Option<Tunnel>,
}

impl Tunnels {
    /// These encapsulations with one more inside of them, of which there are at most [`TUNNEL_LEVELS`].
    pub(crate) fn with(self, tunnel: Tunnel) -> Self {
        match self.outer {
            None => Self {
                outer: Some(tunnel),
                inner: None,
            },
            outer => Self {
                outer,
                inner: Some(tunnel),
            },
        }
    }

    /// The name as the tables spell it, the outer one first; `None` without any.
    pub(crate) fn name(self) -> Option<Cow<'static, str>> {
        let outer = self.outer?.name();
        Some(match self.inner {
            None => outer.into(),
            Some(inner) => format!("{outer}/{}", inner.name()).into(),
        })
    }
}
