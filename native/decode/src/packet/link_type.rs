//! Link types of captures: the one list of those that have a decoder.

/// Link layers that a frame can begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkType {
    Ethernet,
    LinuxSll,
    LinuxSll2,
    RawIp,
    BsdLoopback,
    /// PPP, with or without its HDLC address and control bytes.
    Ppp,
    /// A `PPPoE` session packet without the Ethernet header.
    PppOverEthernet,
    /// Cisco HDLC: address, control, Ethernet type.
    CiscoHdlc,
    /// A header of IEEE 802.11.
    Ieee80211,
    /// Radiotap, then a header of IEEE 802.11.
    Radiotap,
    /// Attributes of the kernel's packet log, one of which is an IP packet.
    Nflog,
    /// Apple's header with the link type of what follows.
    Pktap,
    /// A type of the registry that has no decoder.
    Other(u32),
}

/// A link type that has a decoder, under one of its numbers.
#[derive(Debug, Clone, Copy)]
pub struct KnownLinkType {
    /// Number in a capture file (the registry of tcpdump.org/linktypes.html).
    pub number: u32,
    /// Name in the registry, in small letters.
    pub name: &'static str,
    /// What a frame begins with, in one line.
    pub meaning: &'static str,
    link: LinkType,
}

/// Of the numbers of one link layer, the one that files have today is first.
const KNOWN: [KnownLinkType; 19] = [
    link_type(
        1,
        "ethernet",
        LinkType::Ethernet,
        "Ethernet, with VLAN tags, PPPoE and MPLS",
    ),
    link_type(
        113,
        "linux_sll",
        LinkType::LinuxSll,
        "Linux cooked capture, version 1 (tcpdump -i any)",
    ),
    link_type(
        276,
        "linux_sll2",
        LinkType::LinuxSll2,
        "Linux cooked capture, version 2",
    ),
    link_type(101, "raw", LinkType::RawIp, "IPv4 or IPv6 without a link header"),
    link_type(
        12,
        "raw",
        LinkType::RawIp,
        "IPv4 or IPv6 without a link header, as older writers number it (DLT_RAW)",
    ),
    link_type(
        14,
        "raw",
        LinkType::RawIp,
        "IPv4 or IPv6 without a link header, as OpenBSD numbers it (DLT_RAW)",
    ),
    link_type(228, "ipv4", LinkType::RawIp, "IPv4 without a link header"),
    link_type(229, "ipv6", LinkType::RawIp, "IPv6 without a link header"),
    link_type(
        0,
        "null",
        LinkType::BsdLoopback,
        "BSD loopback, address family in the byte order of the host",
    ),
    link_type(
        108,
        "loop",
        LinkType::BsdLoopback,
        "OpenBSD loopback, address family in network byte order",
    ),
    link_type(
        9,
        "ppp",
        LinkType::Ppp,
        "PPP, with or without address and control bytes",
    ),
    link_type(50, "ppp_hdlc", LinkType::Ppp, "PPP in HDLC-like framing"),
    link_type(
        51,
        "pppoe",
        LinkType::PppOverEthernet,
        "PPPoE session packets without the Ethernet header",
    ),
    link_type(104, "c_hdlc", LinkType::CiscoHdlc, "Cisco HDLC"),
    link_type(
        105,
        "ieee802_11",
        LinkType::Ieee80211,
        "IEEE 802.11 data frames that are neither encrypted, fragmented nor aggregated",
    ),
    link_type(
        127,
        "ieee802_11_radiotap",
        LinkType::Radiotap,
        "radiotap, then IEEE 802.11 as under 105",
    ),
    link_type(
        239,
        "nflog",
        LinkType::Nflog,
        "Linux netfilter log, whose payload is IPv4 or IPv6",
    ),
    link_type(
        258,
        "pktap",
        LinkType::Pktap,
        "Apple's header of process and interface, then a frame of any link type above",
    ),
    link_type(
        149,
        "user2",
        LinkType::Pktap,
        "the same, as Apple's tools number it (DLT_USER2)",
    ),
];

/// Link types that captures are often of and that have no decoder, so that a refusal can name them.
const WITHOUT_DECODER: [(u32, &str); 44] = [
    (3, "ax25"),
    (6, "ieee802_5"),
    (7, "arcnet_bsd"),
    (8, "slip"),
    (10, "fddi"),
    (19, "atm_clip"),
    (99, "symantec_firewall"),
    (100, "atm_rfc1483"),
    (106, "atm_clip"),
    (107, "frelay"),
    (114, "ltalk"),
    (117, "pflog"),
    (119, "ieee802_11_prism"),
    (122, "ip_over_fc"),
    (123, "sunatm"),
    (129, "arcnet_linux"),
    (138, "apple_ip_over_ieee1394"),
    (139, "mtp2_with_phdr"),
    (140, "mtp2"),
    (141, "mtp3"),
    (142, "sccp"),
    (143, "docsis"),
    (144, "linux_irda"),
    (147, "user0"),
    (148, "user1"),
    (150, "user3"),
    (163, "ieee802_11_avs"),
    (165, "bacnet_ms_tp"),
    (177, "linux_lapd"),
    (182, "mfr"),
    (187, "bluetooth_hci_h4"),
    (189, "usb_linux"),
    (192, "ppi"),
    (195, "ieee802_15_4_withfcs"),
    (201, "bluetooth_hci_h4_with_phdr"),
    (203, "lapd"),
    (220, "usb_linux_mmapped"),
    (224, "fc_2"),
    (227, "can_socketcan"),
    (230, "ieee802_15_4_nofcs"),
    (249, "usbpcap"),
    (251, "bluetooth_le_ll"),
    (252, "wireshark_upper_pdu"),
    (253, "netlink"),
];

const fn link_type(number: u32, name: &'static str, link: LinkType, meaning: &'static str) -> KnownLinkType {
    KnownLinkType {
        number,
        name,
        meaning,
        link,
    }
}

impl LinkType {
    /// All link types that have a decoder.
    pub(crate) const KNOWN: &'static [KnownLinkType] = &KNOWN;

    /// The type of a number in a capture file.
    pub(crate) fn from_number(number: u32) -> Self {
        KNOWN
            .iter()
            .find(|entry| entry.number == number)
            .map_or(Self::Other(number), |entry| entry.link)
    }

    /// The number that the type has in files today.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Other(number) => number,
            // Every other type is in the list, which a test holds.
            link => KNOWN
                .iter()
                .find(|entry| entry.link == link)
                .map_or(u32::MAX, |entry| entry.number),
        }
    }

    /// The name of a number in the registry, where it is listed here.
    pub(crate) fn name_of(number: u32) -> Option<&'static str> {
        let with_decoder = KNOWN.iter().map(|entry| (entry.number, entry.name));
        with_decoder
            .chain(WITHOUT_DECODER)
            .find(|(listed, _)| *listed == number)
            .map(|(_, name)| name)
    }

    /// A number with its name in the registry, where it has one: "127, radiotap".
    pub(crate) fn describe(number: u32) -> String {
        Self::name_of(number).map_or_else(|| number.to_string(), |name| format!("{number}, {name}"))
    }

    /// The names of all types that have a decoder, as messages list them.
    pub(crate) fn names() -> String {
        let mut names: Vec<_> = KNOWN.iter().map(|entry| entry.name).collect();
        names.dedup();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_layer_is_listed_and_numbers_are_listed_once() {
        use LinkType::{
            BsdLoopback, CiscoHdlc, Ethernet, Ieee80211, LinuxSll, LinuxSll2, Nflog, Other, Pktap, Ppp,
            PppOverEthernet, Radiotap, RawIp,
        };
        for (link, number) in [
            (Ethernet, 1),
            (LinuxSll, 113),
            (LinuxSll2, 276),
            (RawIp, 101),
            (BsdLoopback, 0),
            (Ppp, 9),
            (PppOverEthernet, 51),
            (CiscoHdlc, 104),
            (Ieee80211, 105),
            (Radiotap, 127),
            (Nflog, 239),
            (Pktap, 258),
        ] {
            assert_eq!((link.number(), LinkType::from_number(number)), (number, link));
        }
        assert_eq!(
            (Other(147).number(), LinkType::from_number(147)),
            (147, Other(147))
        );
        assert_eq!(LinkType::from_number(149), Pktap);
        assert_eq!(LinkType::describe(127), "127, ieee802_11_radiotap");
        assert_eq!(LinkType::describe(400), "400");
        assert!(
            WITHOUT_DECODER
                .iter()
                .all(|(number, _)| LinkType::from_number(*number) == Other(*number))
        );
        let mut numbers: Vec<_> = KNOWN.iter().map(|entry| entry.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), KNOWN.len());
    }
}
