//! Packet records out of capture files.

use crate::capture::pcap::{FILE_HEADER_BYTES, PcapReader};
use crate::capture::pcapng::PcapngReader;
use crate::input::source::PlainReader;
use crate::output::decoded::Decoded;
use crate::output::fault::{Fault, FaultKind};
use crate::packet::captured::CapturedPacket;
use crate::packet::link_type::LinkType;

const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const PCAP_MAGICS: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
];
/// A reader of any capture format: one variant for each.
pub(crate) enum CaptureReader {
    Pcap(PcapReader),
    Pcapng(PcapngReader),
}

impl CaptureReader {
    /// The formats that are read.
    pub(crate) const FORMATS: &'static [Decoded] = &[
        Decoded {
            kind: "capture format",
            name: "pcap",
            meaning: "both byte orders, microseconds and nanoseconds, versions before 2.4, Kuznetzov's record header",
        },
        Decoded {
            kind: "capture format",
            name: "pcapng",
            meaning: "several sections and interfaces, enhanced, simple and obsolete packet blocks, any time resolution",
        },
    ];

    /// Whether a content begins with a magic number of a capture.
    pub(crate) fn begins(source: &mut PlainReader) -> bool {
        source.fill(PCAPNG_MAGIC.len());
        let head = source.available().get(..PCAPNG_MAGIC.len());
        let mut magics = PCAP_MAGICS.iter().chain([&PCAPNG_MAGIC]);
        magics.any(|magic| head == Some(magic))
    }

    /// Recognise the format by its first bytes and read the file header.
    pub(crate) fn new(mut source: PlainReader) -> Result<Self, Fault> {
        let available = source.fill(FILE_HEADER_BYTES);
        let head = source
            .available()
            .get(..available.min(FILE_HEADER_BYTES))
            .unwrap_or_default();
        let could_be = |magic: &[u8]| head.iter().zip(magic).all(|(byte, wanted)| byte == wanted);
        if head.is_empty() || (head.len() < 4 && PCAP_MAGICS.iter().any(|magic| could_be(magic))) {
            return Err(Self::header_cut(&source, available));
        }
        if could_be(&PCAPNG_MAGIC) {
            return PcapngReader::new(source).map(Self::Pcapng);
        }
        if !PCAP_MAGICS.iter().any(|magic| could_be(magic)) {
            return Err(Fault::new(
                FaultKind::UnrecognisedFormat,
                format!(
                    "capture header: needed the magic number of a pcap or pcapng file at offset 0, found {}",
                    hexadecimal(head.get(..4).unwrap_or(head))
                ),
                Some(0),
            ));
        }
        if available < FILE_HEADER_BYTES {
            return Err(Self::header_cut(&source, available));
        }
        PcapReader::new(source).map(Self::Pcap)
    }

    fn header_cut(source: &PlainReader, available: usize) -> Fault {
        if let Some(fault) = source.fault() {
            return fault.clone();
        }
        Fault::new(
            FaultKind::Truncated,
            format!(
                "capture header: needed {FILE_HEADER_BYTES} bytes, found {available} at offset 0; capture or copy the file again"
            ),
            Some(0),
        )
    }

    /// The link types that its packets can have: that of the file, or those of the section's interfaces.
    pub(crate) fn links(&self) -> Vec<LinkType> {
        match self {
            Self::Pcap(reader) => vec![reader.link()],
            Self::Pcapng(reader) => reader.links(),
        }
    }

    /// Numbers of the link types that its packets had so far, and how many packets of each.
    pub(crate) fn link_records(&self) -> Vec<(u32, u64)> {
        match self {
            Self::Pcap(reader) => vec![reader.link_records()],
            Self::Pcapng(reader) => reader.link_records(),
        }
    }

    /// What it reads.
    pub(crate) fn into_source(self) -> PlainReader {
        match self {
            Self::Pcap(reader) => reader.into_source(),
            Self::Pcapng(reader) => reader.into_source(),
        }
    }

    /// The next packet, `None` at the end of the file.
    pub(crate) fn next_packet(&mut self) -> Result<Option<CapturedPacket<'_>>, Fault> {
        match self {
            Self::Pcap(reader) => reader.next_packet(),
            Self::Pcapng(reader) => reader.next_packet(),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::source::tests::{gzip, reader_over};
    use crate::test_capture::TestCapture;

    type Read = (Vec<(i64, u32, Vec<u8>)>, Option<Fault>);

    fn read(content: &[u8]) -> Result<Read, Fault> {
        let mut reader = CaptureReader::new(reader_over(content))?;
        let mut packets = Vec::new();
        loop {
            match reader.next_packet() {
                Ok(Some(packet)) => packets.push((packet.time_ns, packet.wire_bytes, packet.frame.to_vec())),
                Ok(None) => return Ok((packets, None)),
                Err(fault) => return Ok((packets, Some(fault))),
            }
        }
    }

    fn two_packets() -> Vec<u8> {
        let mut capture = TestCapture::new(1);
        capture
            .record(1_500_000, &[1, 2, 3])
            .snapped(2_000_001, &[4], 1500);
        capture.content
    }

    fn swapped(content: &[u8]) -> Vec<u8> {
        let mut content = content.to_vec();
        content[4..6].reverse();
        content[6..8].reverse();
        for word in [0, 8, 12, 16, 20, 24, 28, 32, 36, 43, 47, 51, 55] {
            content[word..word + 4].reverse();
        }
        content
    }

    #[test]
    fn both_byte_orders_and_resolutions_are_read() {
        let little = two_packets();
        let expected = vec![(1_500_000_000, 3, vec![1, 2, 3]), (2_000_001_000, 1500, vec![4])];
        assert_eq!(read(&little), Ok((expected.clone(), None)));
        assert_eq!(read(&swapped(&little)), Ok((expected.clone(), None)));
        assert_eq!(read(&gzip(&little)), Ok((expected, None)));
        let mut nanoseconds = little;
        nanoseconds[..4].copy_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
        for content in [swapped(&nanoseconds), nanoseconds] {
            let (packets, fault) = read(&content).unwrap();
            assert_eq!(
                (packets[0].0, packets[1].0, fault),
                (1_000_500_000, 2_000_000_001, None)
            );
        }
    }

    #[test]
    fn a_cut_anywhere_keeps_the_packets_before_it() {
        let content = two_packets();
        for length in 0..content.len() {
            match read(&content[..length]) {
                Err(fault) => {
                    assert!(length < 24);
                    assert_eq!((fault.kind, fault.offset), (FaultKind::Truncated, Some(0)));
                }
                Ok((packets, fault)) => {
                    let ends = [24, 43].iter().filter(|end| length >= **end).count();
                    assert_eq!(packets.len() + 1, ends);
                    let start = [24u64, 43][ends - 1];
                    let whole = length as u64 == start;
                    assert_eq!(fault.is_none(), whole);
                    if let Some(fault) = fault {
                        assert_eq!((fault.kind, fault.offset), (FaultKind::Truncated, Some(start)));
                    }
                }
            }
        }
    }

    #[test]
    fn a_length_no_record_can_have_is_corrupt() {
        let mut content = two_packets();
        content[53] = 0x7f;
        let (packets, fault) = read(&content).unwrap();
        let fault = fault.unwrap();
        assert_eq!(
            (packets.len(), fault.kind, fault.offset),
            (1, FaultKind::CorruptRecord, Some(43))
        );
    }

    #[test]
    fn what_is_no_pcap_is_said() {
        let kind = |content: &[u8]| read(content).unwrap_err();
        assert_eq!(
            kind(b"hello, world, this is a text").kind,
            FaultKind::UnrecognisedFormat
        );
        assert_eq!(kind(b"hi").kind, FaultKind::UnrecognisedFormat);
        assert_eq!(
            kind(&[0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 0]).kind,
            FaultKind::Truncated
        );
    }

    #[test]
    fn before_version_2_3_the_lengths_stand_the_other_way_round() {
        let mut capture = TestCapture::new(1);
        capture.snapped(1, b"abc", 90);
        for (minor, swap) in [(2, true), (3, true), (3, false), (4, false)] {
            let mut content = capture.content.clone();
            content[6] = minor;
            if swap {
                let (captured, wire) = content[32..40].split_at_mut(4);
                captured.swap_with_slice(wire);
            }
            assert_eq!(read(&content), Ok((vec![(1000, 90, b"abc".to_vec())], None)));
        }
    }

    #[test]
    fn a_version_from_before_2_is_reported() {
        let mut content = TestCapture::new(1).content;
        content[4..8].copy_from_slice(&[1, 0, 2, 0]);
        let fault = read(&content).unwrap_err();
        assert!(fault.message.contains("pcap version 1.2"), "{fault}");
    }

    #[test]
    fn the_frame_check_sequence_bits_are_no_link_type() {
        let content = TestCapture::new(0x2400_0001).content;
        assert_eq!(read(&content), Ok((Vec::new(), None)));
    }
}
