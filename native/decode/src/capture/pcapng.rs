//! Reader of pcapng: sections in either byte order, interfaces with their own link types and clocks.
//!
//! Blocks are framed and read field by field: a parser of whole blocks refuses what the format allows (the crate
//! that reads the pcap header drops time resolutions that are a power of 2) and hides where a block is damaged.

use std::collections::BTreeMap;

use crate::capture::record::{MAXIMUM_RECORD_BYTES, cut};
use crate::input::bytes::{be_u16, be_u32, le_u32};
use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};
use crate::packet::captured::CapturedPacket;
use crate::packet::link_type::LinkType;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const BLOCK_HEADER_BYTES: usize = 8;
/// Of a section header, the fields up to the version.
const SECTION_START_BYTES: usize = 16;
/// Block type, the two lengths.
const SMALLEST_BLOCK_BYTES: u32 = 12;
/// Wireshark's own bound on a block; one that is longer cannot be distinguished from damage.
const LARGEST_BLOCK_BYTES: u32 = 16 * 1024 * 1024;
/// A section with more interfaces is not a capture; their descriptions must not fill memory.
const INTERFACES: usize = 65_536;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;
/// The year 2116. Differences of two times within it fit 64 bits, for any clock of an interface.
const LATEST_NS: i64 = i64::MAX / 2;
const NANOSECONDS: u128 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Interface {
    link: LinkType,
    link_number: u32,
    snap_bytes: u32,
    units_per_second: u64,
    offset_s: i64,
}

/// Units per second of an `if_tsresol` option: a power of 10, or of 2 where the highest bit is set.
fn units_per_second(resolution: u8) -> Option<u64> {
    if resolution & 0x80 == 0 {
        10u64.checked_pow(u32::from(resolution))
    } else {
        1u64.checked_shl(u32::from(resolution & 0x7f))
    }
}

impl Interface {
    fn time_ns(&self, units: u64) -> i64 {
        let per_second = u128::from(self.units_per_second);
        let since_offset = u128::from(units) * NANOSECONDS / per_second;
        let since_offset = i64::try_from(since_offset).unwrap_or(i64::MAX);
        self.offset_s
            .saturating_mul(1_000_000_000)
            .saturating_add(since_offset)
            .clamp(-LATEST_NS, LATEST_NS)
    }
}

/// Reader of pcapng blocks.
pub(crate) struct PcapngReader {
    source: PlainReader,
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Packets of each link type so far, by its number.
    link_records: BTreeMap<u32, u64>,
    /// Simple packet blocks carry no time; they get that of the packet before, and none where there is none.
    last_ns: i64,
    /// The block handed out last still occupies the buffer; it is given up on the next call.
    held_bytes: usize,
}

struct Packet {
    interface: Interface,
    time_ns: i64,
    wire_bytes: u32,
    data_start: usize,
    captured_bytes: usize,
}

impl PcapngReader {
    /// Read a source that begins with a section header's block type.
    pub(crate) fn new(mut source: PlainReader) -> Result<Self, Fault> {
        let available = source.fill(SECTION_START_BYTES);
        let mut reader = Self {
            source,
            big_endian: false,
            interfaces: Vec::new(),
            link_records: BTreeMap::new(),
            last_ns: CapturedPacket::NO_TIME_NS,
            held_bytes: 0,
        };
        if available < BLOCK_HEADER_BYTES + 4 {
            return Err(reader.ends_in("section header", BLOCK_HEADER_BYTES + 4, available, 0));
        }
        reader.begin_section(0)?;
        Ok(reader)
    }

    /// The link types of the section's interfaces.
    pub(crate) fn links(&self) -> Vec<LinkType> {
        self.interfaces.iter().map(|interface| interface.link).collect()
    }

    /// Numbers of the packets' link types in all sections, and how many packets of each had been read.
    pub(crate) fn link_records(&self) -> Vec<(u32, u64)> {
        self.link_records
            .iter()
            .map(|(number, records)| (*number, *records))
            .collect()
    }

    fn count(&mut self, link_number: u32) {
        *self.link_records.entry(link_number).or_default() += 1;
    }

    fn ends_in(&self, layer: &str, needed: usize, available: usize, offset: u64) -> Fault {
        self.source
            .fault()
            .cloned()
            .unwrap_or_else(|| cut(layer, needed, available, offset))
    }

    fn field(&self, bytes: &[u8], offset: usize) -> Option<u32> {
        if self.big_endian {
            be_u32(bytes, offset)
        } else {
            le_u32(bytes, offset)
        }
    }

    fn short_field(&self, bytes: &[u8], offset: usize) -> Option<u16> {
        be_u16(bytes, offset).map(|field| {
            if self.big_endian {
                field
            } else {
                field.swap_bytes()
            }
        })
    }

    /// Take the byte order of a section from its header, which is readable in either, and see that its version is known.
    ///
    /// Blocks of another major version may be anything; version 1.2 is that of some writers, and the same as 1.0
    /// (draft-ietf-opsawg-pcapng, 4.1).
    fn begin_section(&mut self, offset: u64) -> Result<(), Fault> {
        self.big_endian = match be_u32(self.source.available(), BLOCK_HEADER_BYTES) {
            Some(BYTE_ORDER_MAGIC) => true,
            Some(magic) if magic.swap_bytes() == BYTE_ORDER_MAGIC => false,
            _ => {
                return Err(Fault::new(
                    FaultKind::CorruptRecord,
                    format!("section header: no byte-order magic at offset {}", offset + 8),
                    Some(offset),
                ));
            }
        };
        let header = self.source.available();
        let version = self.short_field(header, 12).zip(self.short_field(header, 14));
        match version {
            // A header that ends before them is cut, of which the block's length tells.
            None | Some((1, 0 | 2)) => {}
            Some((major, minor)) => {
                return Err(Fault::new(
                    FaultKind::UnrecognisedFormat,
                    format!(
                        "section header: pcapng version {major}.{minor} at offset {}; versions 1.0 and 1.2 are read; write the capture again with Wireshark or editcap",
                        offset + 12
                    ),
                    Some(offset),
                ));
            }
        }
        self.interfaces.clear();
        Ok(())
    }

    /// What it reads.
    pub(crate) fn into_source(self) -> PlainReader {
        self.source
    }

    /// The next packet, `None` at the end of the file.
    pub(crate) fn next_packet(&mut self) -> Result<Option<CapturedPacket<'_>>, Fault> {
        loop {
            self.source.consume(self.held_bytes);
            self.held_bytes = 0;
            let offset = self.source.offset();
            let available = self.source.fill(BLOCK_HEADER_BYTES);
            if available == 0 && self.source.fault().is_none() {
                return Ok(None);
            }
            if available < BLOCK_HEADER_BYTES {
                return Err(self.ends_in("block header", BLOCK_HEADER_BYTES, available, offset));
            }
            let (kind, block_bytes) = self.block(offset)?;
            self.held_bytes = block_bytes;
            let corrupt = |what: &str| {
                Fault::new(
                    FaultKind::CorruptRecord,
                    format!("{what} in the block at offset {offset}; what follows is not read"),
                    Some(offset),
                )
            };
            let packet = match kind {
                INTERFACE_DESCRIPTION => {
                    self.interface(block_bytes).map_err(corrupt)?;
                    continue;
                }
                ENHANCED_PACKET | PACKET | SIMPLE_PACKET => {
                    self.packet(kind, block_bytes).map_err(corrupt)?
                }
                // Name resolution, statistics, decryption secrets, custom and later blocks hold no packets.
                _ => continue,
            };
            self.last_ns = packet.time_ns;
            self.count(packet.interface.link_number);
            let frame = self
                .source
                .available()
                .get(packet.data_start..packet.data_start + packet.captured_bytes)
                .unwrap_or_default();
            return Ok(Some(CapturedPacket {
                time_ns: packet.time_ns,
                wire_bytes: packet.wire_bytes,
                link: packet.interface.link,
                frame,
            }));
        }
    }

    /// Make the block at `offset` available whole; its type and its length.
    fn block(&mut self, offset: u64) -> Result<(u32, usize), Fault> {
        if be_u32(self.source.available(), 0) == Some(SECTION_HEADER) {
            let available = self.source.fill(SECTION_START_BYTES);
            if available < BLOCK_HEADER_BYTES + 4 {
                return Err(self.ends_in("section header", BLOCK_HEADER_BYTES + 4, available, offset));
            }
            self.begin_section(offset)?;
        }
        let header = self.source.available();
        let (Some(kind), Some(length)) = (self.field(header, 0), self.field(header, 4)) else {
            return Err(cut("block header", BLOCK_HEADER_BYTES, header.len(), offset));
        };
        if !(SMALLEST_BLOCK_BYTES..=LARGEST_BLOCK_BYTES).contains(&length) {
            return Err(Fault::new(
                FaultKind::CorruptRecord,
                format!(
                    "block header: length {length} at offset {} is not one of {SMALLEST_BLOCK_BYTES} to {LARGEST_BLOCK_BYTES} bytes; what follows cannot be found",
                    offset + 4
                ),
                Some(offset),
            ));
        }
        // Blocks are padded to 4 bytes; some writers leave the padding out of the length.
        let block_bytes = (length as usize).next_multiple_of(4);
        let available = self.source.fill(block_bytes);
        if available < block_bytes {
            return Err(self.ends_in("block", block_bytes, available, offset));
        }
        let trailer = self.field(self.source.available(), block_bytes - 4);
        if trailer != Some(length) {
            return Err(Fault::new(
                FaultKind::CorruptRecord,
                format!(
                    "block: the length at its end is {} and not {length} in the block at offset {offset}; what follows is not read",
                    trailer.unwrap_or_default()
                ),
                Some(offset),
            ));
        }
        Ok((kind, block_bytes))
    }

    fn interface(&mut self, block_bytes: usize) -> Result<(), &'static str> {
        const CUT: &str = "interface description: shorter than its fixed fields";
        let block = self.source.available().get(..block_bytes).unwrap_or_default();
        let link_number = u32::from(self.short_field(block, 8).ok_or(CUT)?);
        let mut interface = Interface {
            link: LinkType::from_number(link_number),
            link_number,
            snap_bytes: self.field(block, 12).ok_or(CUT)?,
            units_per_second: 1_000_000,
            offset_s: 0,
        };
        let mut place = 16;
        let end = block_bytes - 4;
        while place + 4 <= end {
            let (Some(code), Some(length)) =
                (self.short_field(block, place), self.short_field(block, place + 2))
            else {
                break;
            };
            if code == 0 {
                break;
            }
            let start = place + 4;
            place = (start + usize::from(length)).next_multiple_of(4);
            match (code, block.get(start..(start + usize::from(length)).min(end))) {
                (OPTION_TIME_RESOLUTION, Some([resolution, ..])) => {
                    // A resolution that no 64-bit count of units can have is ignored; the default is kept.
                    if let Some(units) = units_per_second(*resolution) {
                        interface.units_per_second = units;
                    }
                }
                (OPTION_TIME_OFFSET, Some(value)) => {
                    if let Ok(value) = <[u8; 8]>::try_from(value) {
                        interface.offset_s = if self.big_endian {
                            i64::from_be_bytes(value)
                        } else {
                            i64::from_le_bytes(value)
                        };
                    }
                }
                _ => {}
            }
        }
        if self.interfaces.len() == INTERFACES {
            return Err("interface description: more interfaces than a section of a capture has");
        }
        self.interfaces.push(interface);
        Ok(())
    }

    fn packet(&self, kind: u32, block_bytes: usize) -> Result<Packet, &'static str> {
        const CUT: &str = "packet block: shorter than its fixed fields";
        let block = self.source.available().get(..block_bytes).unwrap_or_default();
        let field = |offset| self.field(block, offset).ok_or(CUT);
        let (interface, time, captured_bytes, wire_bytes, data_start) = match kind {
            ENHANCED_PACKET => {
                let units = u64::from(field(12)?) << 32 | u64::from(field(16)?);
                (field(8)?, Some(units), field(20)?, field(24)?, 28)
            }
            PACKET => {
                let interface = u32::from(self.short_field(block, 8).ok_or(CUT)?);
                let units = u64::from(field(12)?) << 32 | u64::from(field(16)?);
                (interface, Some(units), field(20)?, field(24)?, 28)
            }
            _ => (0, None, u32::MAX, field(8)?, 12),
        };
        let interface = *self
            .interfaces
            .get(interface as usize)
            .ok_or("packet block: names an interface that the section does not describe")?;
        let data_bytes = block_bytes.saturating_sub(data_start + 4);
        let captured_bytes = if time.is_none() {
            let snapped = if interface.snap_bytes == 0 {
                u32::MAX
            } else {
                interface.snap_bytes
            };
            (wire_bytes.min(snapped) as usize).min(data_bytes)
        } else {
            captured_bytes as usize
        };
        if captured_bytes > data_bytes || captured_bytes > MAXIMUM_RECORD_BYTES as usize {
            return Err("packet block: the captured length is beyond the block");
        }
        Ok(Packet {
            time_ns: time.map_or(self.last_ns, |units| interface.time_ns(units)),
            wire_bytes: wire_bytes.max(u32::try_from(captured_bytes).unwrap_or(u32::MAX)),
            interface,
            data_start,
            captured_bytes,
        })
    }
}

#[cfg(test)]
mod tests;
