//! Protocol numbers of IP (IANA, Assigned Internet Protocol Numbers).

use std::borrow::Cow;

use crate::output::decoded::Decoded;

pub(crate) const PROTOCOL_TCP: u8 = 6;
pub(crate) const PROTOCOL_UDP: u8 = 17;

/// Protocols of the network and transport layers that are read.
pub(crate) const PROTOCOLS: &[Decoded] = &[
    Decoded {
        kind: "network",
        name: "ipv4",
        meaning: "options are skipped; later fragments get the ports of the first one (RFC 791)",
    },
    Decoded {
        kind: "network",
        name: "ipv6",
        meaning: "extension headers are skipped; later fragments get the ports of the first one (RFC 8200)",
    },
    Decoded {
        kind: "transport",
        name: "tcp",
        meaning: "ports, sequence and acknowledgement numbers, flags, window, timestamps, SACK and DSACK \
                  (RFC 9293, RFC 7323, RFC 2018, RFC 2883)",
    },
    Decoded {
        kind: "transport",
        name: "udp",
        meaning: "ports and payload (RFC 768)",
    },
    Decoded {
        kind: "transport",
        name: "icmp, icmp6 and others",
        meaning: "counted as flows without ports, under the protocol's name or as ip-NUMBER",
    },
];

/// Name of an IP protocol number, as the tables spell it.
pub(crate) fn protocol_name(number: u8) -> Cow<'static, str> {
    match number {
        1 => "icmp".into(),
        PROTOCOL_TCP => "tcp".into(),
        PROTOCOL_UDP => "udp".into(),
        58 => "icmp6".into(),
        other => format!("ip-{other}").into(),
    }
}

/// Whether an IP protocol has ports that the decoder reads.
pub(crate) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP)
}
