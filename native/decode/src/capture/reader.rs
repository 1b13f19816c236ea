//! Packet records out of capture files.

use pcap_parser::PcapHeader;

use crate::capture::pcapng::PcapngReader;
use crate::input::bytes::{be_u32, le_u32};
use crate::input::fault::{Fault, FaultKind};
use crate::input::source::PlainReader;
use crate::packet::link::LinkType;

const FILE_HEADER_BYTES: usize = 24;
const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const PCAP_MAGICS: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
];
/// libpcap's own bound on a record (`MAXIMUM_SNAPLEN`). The snapshot length of the file header is no bound:
/// whole captures exist whose records are longer.
pub(crate) const MAXIMUM_RECORD_BYTES: u32 = 262_144;
/// The top bits of the link type field hold the length of the frame check sequence.
const LINK_TYPE_MASK: u32 = 0x03ff_ffff;

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

/// A reader of any capture format: one variant for each.
pub(crate) enum CaptureReader {
    Pcap(PcapReader),
    Pcapng(PcapngReader),
}

impl CaptureReader {
    /// Recognise the format by its first bytes and read the file header.
    pub(crate) fn new(mut source: PlainReader) -> Result<Self, Fault> {
        let available = source.fill(FILE_HEADER_BYTES);
        let head = source
            .available()
            .get(..available.min(FILE_HEADER_BYTES))
            .unwrap_or_default();
        let could_be = |magic: &[u8]| head.iter().zip(magic).all(|(found, wanted)| found == wanted);
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

/// Reader of pcap: both byte orders, microseconds and nanoseconds, and the patched record header of
/// Alexey Kuznetzov.
pub(crate) struct PcapReader {
    source: PlainReader,
    link: LinkType,
    big_endian: bool,
    fraction_ns: i64,
    record_header_bytes: usize,
    /// The minor version of the format; before 2.3 the two lengths of a record stood the other way round, and
    /// of 2.3 there are files of both kinds.
    minor_version: u16,
    /// The record handed out last still occupies the buffer; it is given up on the next call.
    held_bytes: usize,
}

impl PcapReader {
    fn new(mut source: PlainReader) -> Result<Self, Fault> {
        let header: PcapHeader = match pcap_parser::parse_pcap_header(source.available()) {
            Ok((_, header)) => header,
            Err(error) => {
                return Err(Fault::new(
                    FaultKind::UnrecognisedFormat,
                    format!("capture header: {error} at offset 0"),
                    Some(0),
                ));
            }
        };
        let link_number = header.network.0.cast_unsigned() & LINK_TYPE_MASK;
        let reader = Self {
            link: LinkType::from_number(link_number),
            big_endian: header.is_bigendian(),
            fraction_ns: if header.is_nanosecond_precision() { 1 } else { 1000 },
            record_header_bytes: if header.is_modified_format() { 24 } else { 16 },
            minor_version: if header.version_major == 2 {
                header.version_minor
            } else {
                u16::MAX
            },
            held_bytes: 0,
            source: {
                source.consume(FILE_HEADER_BYTES);
                source
            },
        };
        Ok(reader)
    }

    pub(crate) fn link(&self) -> LinkType {
        self.link
    }

    fn next_packet(&mut self) -> Result<Option<CapturedPacket<'_>>, Fault> {
        self.source.consume(self.held_bytes);
        self.held_bytes = 0;
        let offset = self.source.offset();
        let available = self.source.fill(self.record_header_bytes);
        if available < self.record_header_bytes {
            if let Some(fault) = self.source.fault() {
                return Err(fault.clone());
            }
            return if available == 0 {
                Ok(None)
            } else {
                Err(cut("record header", self.record_header_bytes, available, offset))
            };
        }
        let header = self.source.available();
        let field = |position| {
            if self.big_endian {
                be_u32(header, position)
            } else {
                le_u32(header, position)
            }
        };
        let (Some(seconds), Some(fraction), Some(captured_bytes), Some(wire_bytes)) =
            (field(0), field(4), field(8), field(12))
        else {
            return Err(cut("record header", self.record_header_bytes, available, offset));
        };
        let swapped = self.minor_version < 3 || (self.minor_version == 3 && captured_bytes > wire_bytes);
        let (captured_bytes, wire_bytes) = if swapped {
            (wire_bytes, captured_bytes)
        } else {
            (captured_bytes, wire_bytes)
        };
        if captured_bytes > MAXIMUM_RECORD_BYTES {
            return Err(Fault::new(
                FaultKind::CorruptRecord,
                format!(
                    "record header: captured length {captured_bytes} at offset {} is above the {} bytes a record of this capture can have; what follows cannot be found",
                    offset + 8,
                    MAXIMUM_RECORD_BYTES
                ),
                Some(offset),
            ));
        }
        let captured = captured_bytes as usize;
        let record_bytes = self.record_header_bytes + captured;
        let available = self.source.fill(record_bytes);
        if available < record_bytes {
            if let Some(fault) = self.source.fault() {
                return Err(fault.clone());
            }
            return Err(cut(
                "record data",
                captured,
                available - self.record_header_bytes,
                offset,
            ));
        }
        self.held_bytes = record_bytes;
        let frame = self
            .source
            .available()
            .get(self.record_header_bytes..record_bytes)
            .unwrap_or_default();
        Ok(Some(CapturedPacket {
            time_ns: i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.fraction_ns,
            wire_bytes: wire_bytes.max(captured_bytes),
            link: self.link,
            frame,
        }))
    }
}

pub(crate) fn cut(layer: &str, needed: usize, available: usize, offset: u64) -> Fault {
    Fault::new(
        FaultKind::Truncated,
        format!(
            "{layer}: needed {needed} bytes, found {available} in the record at offset {offset}; the packets before it were kept"
        ),
        Some(offset),
    )
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
    fn the_frame_check_sequence_bits_are_no_link_type() {
        let content = TestCapture::new(0x2400_0001).content;
        assert_eq!(read(&content), Ok((Vec::new(), None)));
    }
}
