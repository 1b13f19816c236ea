//! Lists of all that the crate decodes and of all reasons for refusing, gathered from where each is declared.

use crate::call::carried::SIGNALLING;
use crate::capture::reader::CaptureReader;
use crate::connection::refusal::{NdtRefusal, TcpInfoRefusal};
use crate::input::compression::Compression;
use crate::output::decoded::Decoded;
use crate::output::refusal::{Refusal, RefusalReason};
use crate::packet::link::ENCAPSULATIONS;
use crate::packet::link_type::{KnownLinkType, LinkType};
use crate::packet::protocol::PROTOCOLS;
use crate::packet::refusal::PacketRefusal;
use crate::packet::types::Tunnel;
use crate::pair::refusal::PairRefusal;
use crate::queue::refusal::QueueLogRefusal;
use crate::rtp::carrier::{Encapsulation, Media};
use crate::rtp::stream::MEDIA;
use crate::server::flow_server::NameSource;

/// Link types of captures that have a decoder, of each link layer first the number that files have today.
#[must_use]
pub fn link_types() -> &'static [KnownLinkType] {
    LinkType::KNOWN
}

/// Capture formats, compressions and protocols.
#[must_use]
pub fn decoded() -> Vec<Decoded> {
    [
        CaptureReader::FORMATS,
        Compression::DECODED,
        ENCAPSULATIONS,
        PROTOCOLS,
        Tunnel::DECODED,
        MEDIA,
        Encapsulation::DECODED,
        Media::DECODED,
        SIGNALLING,
        NameSource::DECODED,
    ]
    .concat()
}

/// Reasons for refusing a record, by subject.
#[must_use]
pub fn refusal_reasons() -> Vec<RefusalReason> {
    [
        PacketRefusal::REASONS,
        PairRefusal::REASONS,
        QueueLogRefusal::REASONS,
        TcpInfoRefusal::REASONS,
        NdtRefusal::REASONS,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_named_once_in_their_subject_and_told_in_one_line() {
        let reasons = refusal_reasons();
        for (place, reason) in reasons.iter().enumerate() {
            let again = |other: &RefusalReason| (other.subject, other.name) == (reason.subject, reason.name);
            assert!(!reasons[place + 1..].iter().any(again), "{}", reason.name);
            assert!(!reason.meaning.contains('\n') && !reason.meaning.ends_with('.'));
        }
    }

    #[test]
    fn a_reason_with_a_number_is_counted_under_the_number() {
        assert_eq!(PacketRefusal::LinkType(147).name(), "link_type_147");
        assert_eq!(PacketRefusal::EtherType(0x88cc).name(), "ethertype_0x88cc");
        assert_eq!(PacketRefusal::PppProtocol(0xc021).name(), "ppp_0xc021");
        assert_eq!(PacketRefusal::AddressFamily(7).name(), "address_family_7");
    }
}
