//! Reader of pcap (draft-ietf-opsawg-pcap), as libpcap and older tools write it.

use pcap_parser::PcapHeader;

use crate::capture::record::{MAXIMUM_RECORD_BYTES, cut};
use crate::input::bytes::{be_u32, le_u32};
use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};
use crate::packet::captured::CapturedPacket;
use crate::packet::link_type::LinkType;

/// Length of the file header.
pub(crate) const FILE_HEADER_BYTES: usize = 24;
/// Most record headers of zeros in a row. A file that was given its size before it was written, or lost what it held,
/// ends in zeros, of which 16 bytes are a record without time and length: gigabytes of them tell nothing more.
const MOST_ZERO_RECORDS: u32 = 4096;
/// The top bits of the link type field hold the length of the frame check sequence.
const LINK_TYPE_MASK: u32 = 0x03ff_ffff;

/// Reader of pcap: both byte orders, microseconds and nanoseconds, and the patched record header of
/// Alexey Kuznetzov.
pub(crate) struct PcapReader {
    source: PlainReader,
    link: LinkType,
    link_number: u32,
    records: u64,
    big_endian: bool,
    fraction_ns: i64,
    record_header_bytes: usize,
    /// The minor version of the format; before 2.3 the two lengths of a record stood the other way round, and
    /// of 2.3 there are files of both kinds.
    minor_version: u16,
    /// The record handed out last still occupies the buffer; it is given up on the next call.
    held_bytes: usize,
    /// Headers of zeros since the last other one.
    zero_records: u32,
}

impl PcapReader {
    /// Read the file header.
    pub(crate) fn new(mut source: PlainReader) -> Result<Self, Fault> {
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
        if header.version_major < 2 {
            return Err(Fault::new(
                FaultKind::UnrecognisedFormat,
                format!(
                    "capture header: pcap version {}.{} at offset 4; versions from 2.0 on are read",
                    header.version_major, header.version_minor
                ),
                Some(0),
            ));
        }
        let link_number = u32::from_ne_bytes(header.network.0.to_ne_bytes()) & LINK_TYPE_MASK;
        let reader = Self {
            link: LinkType::from_number(link_number),
            link_number,
            records: 0,
            big_endian: header.is_bigendian(),
            fraction_ns: if header.is_nanosecond_precision() { 1 } else { 1000 },
            record_header_bytes: if header.is_modified_format() { 24 } else { 16 },
            minor_version: if header.version_major == 2 {
                header.version_minor
            } else {
                u16::MAX
            },
            held_bytes: 0,
            zero_records: 0,
            source: {
                source.consume(FILE_HEADER_BYTES);
                source
            },
        };
        Ok(reader)
    }

    /// The link type of all packets.
    pub(crate) fn link(&self) -> LinkType {
        self.link
    }

    /// Number of the link type, and how many records had been read.
    pub(crate) fn link_records(&self) -> (u32, u64) {
        (self.link_number, self.records)
    }

    /// What it reads.
    pub(crate) fn into_source(self) -> PlainReader {
        self.source
    }

    /// The next packet, `None` at the end of the file.
    pub(crate) fn next_packet(&mut self) -> Result<Option<CapturedPacket<'_>>, Fault> {
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
        if is_file_header(header) {
            return Err(Fault::new(
                FaultKind::CorruptRecord,
                format!(
                    "another capture begins at offset {offset}; join captures with mergecap, or give each as a separate file"
                ),
                Some(offset),
            ));
        }
        if (seconds | fraction | captured_bytes | wire_bytes) == 0 {
            self.zero_records += 1;
            if self.zero_records > MOST_ZERO_RECORDS {
                return Err(Fault::new(
                    FaultKind::CorruptRecord,
                    format!(
                        "{MOST_ZERO_RECORDS} records of zeros end at offset {offset}, and another follows; what comes after them is not read"
                    ),
                    Some(offset),
                ));
            }
        } else {
            self.zero_records = 0;
        }
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
        self.records += 1;
        let fraction_ns = i64::from(fraction) * self.fraction_ns;
        let frame = self
            .source
            .available()
            .get(self.record_header_bytes..record_bytes)
            .unwrap_or_default();
        Ok(Some(CapturedPacket {
            time_ns: if fraction_ns < 1_000_000_000 {
                i64::from(seconds) * 1_000_000_000 + fraction_ns
            } else {
                CapturedPacket::NO_TIME_NS
            },
            wire_bytes: wire_bytes.max(captured_bytes),
            link: self.link,
            frame,
        }))
    }
}

/// Whether the header of a file stands in the place of a record: captures that were joined byte by byte.
///
/// As a record it would have no byte, on the wire neither.
fn is_file_header(record: &[u8]) -> bool {
    let is_of = |version: [u8; 4]| record.get(4..8) == Some(&version);
    let has_version = match record.get(..4) {
        Some([0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d]) => is_of([0, 2, 0, 4]),
        Some([0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]) => is_of([2, 0, 4, 0]),
        _ => false,
    };
    has_version && record.get(8..16) == Some(&[0; 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::source::tests::reader_over;
    use crate::test_capture::{TestCapture, tcp_frame};

    #[test]
    fn a_capture_that_was_joined_to_another_is_named() {
        let mut capture = TestCapture::new(1);
        capture.record(1_000_000, &tcp_frame(1, 10));
        let one = capture.content;
        let mut other = vec![0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4];
        other.resize(FILE_HEADER_BYTES, 0);
        for joined in [[&one[..], &one].concat(), [&one[..], &other].concat()] {
            let mut source = reader_over(&joined);
            source.fill(FILE_HEADER_BYTES);
            let mut reader = PcapReader::new(source).unwrap();
            assert!(reader.next_packet().unwrap().is_some());
            let fault = reader.next_packet().map(drop).unwrap_err();
            assert_eq!(fault.offset, Some(one.len() as u64));
            assert!(fault.message.contains("join captures with mergecap"), "{fault}");
        }
    }
}
