//! Why a packet of a capture is refused.

use crate::output::refusal::refusals;

refusals! {
    /// Why a captured packet is not decoded.
    pub(crate) enum PacketRefusal of "packet" {
        MemberWithoutCapture = "member_without_capture": "a file in an archive of captures that is not a capture",
        ArchiveInArchive = "archive_in_archive": "an archive within an archive of captures; unpack it",
        MemberEncrypted = "member_encrypted": "an encrypted file in a zip archive; unpack it",
        MemberNotUnpacked = "member_not_unpacked": "a file in a zip archive with a compression other than deflate, or of a kind in a tar archive that is not read, such as the rest of one on another volume; unpack it",
        MemberSparse = "sparse_member": "a file that tar stored without its holes; unpack it",
        MemberRepeated = "repeated_member": "a file with the name of an earlier one in the archive, which unpacking would replace; unpack it",
        LengthImplausible = "length_implausible": "the original length is above 1 MiB, twice the largest packet that a host passes on in one piece",
        TimeImplausible = "time_implausible": "the time is before 1970 or after 2106, its fraction is a second or more, or a block without a time comes before any block with one",
        LinkHeaderCut = "link_header_cut": "the captured bytes end inside the link header",
        Arp = "arp": "an ARP packet, which is not IP",
        Ieee8023 = "ieee_802_3": "an IEEE 802.3 frame whose LLC header does not announce IP",
        PppoeDiscovery = "pppoe_discovery": "a PPPoE packet without PPP session data",
        Ieee80211NoData = "ieee_802_11_no_data": "an IEEE 802.11 management or control frame, or a data frame without data",
        Ieee80211Protected = "ieee_802_11_protected": "an encrypted IEEE 802.11 data frame",
        Ieee80211Fragment = "ieee_802_11_fragment": "a fragment of an IEEE 802.11 data frame",
        Ieee80211Aggregate = "ieee_802_11_aggregate": "an IEEE 802.11 frame with several packets in one (A-MSDU)",
        NflogNoPacket = "nflog_no_packet": "an NFLOG record without the payload of a packet",
        PktapNoPacket = "pktap_no_packet": "a PKTAP record that is not a packet",
        MplsNotIp = "mpls_not_ip": "the content after the MPLS labels is not IP",
        IpHeaderCut = "ip_header_cut": "the captured bytes end inside the IP header or its extensions",
        IpHeaderInvalid = "ip_header_invalid": "the IP header contradicts itself or the length of the frame",
        IpFragment = "ip_fragment": "a later fragment of TCP or UDP whose first fragment was not seen",
        TcpHeaderCut = "tcp_header_cut": "the captured bytes end inside the fixed fields of the TCP header",
        TcpHeaderInvalid = "tcp_header_invalid": "the packet is too short for its TCP header",
        UdpHeaderCut = "udp_header_cut": "the captured bytes end inside the UDP header",
        UdpHeaderInvalid = "udp_header_invalid": "the packet is too short for a UDP header",
    }
    with a number {
        LinkType(u32) = "link_type_{number}": "the link type has no decoder",
        AddressFamily(u32) = "address_family_{number}": "the address family of a BSD loopback header is not IP",
        EtherType(u16) = "ethertype_0x{number:04x}": "the Ethernet type is not IP, PPPoE or MPLS",
        PppProtocol(u16) = "ppp_0x{number:04x}": "the PPP protocol is not IP or MPLS",
    }
}
