use crate::capture::reader::CaptureReader;
use crate::input::source::tests::reader_over;
use crate::output::fault::{Fault, FaultKind};
use crate::packet::refusal::PacketRefusal;

type Packets = Vec<(i64, u32, Vec<u8>)>;

struct Blocks {
    big_endian: bool,
    content: Vec<u8>,
}

impl Blocks {
    fn new(big_endian: bool) -> Self {
        let mut blocks = Self {
            big_endian,
            content: Vec::new(),
        };
        blocks.section();
        blocks
    }

    fn number(&self, value: u32) -> [u8; 4] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn short(&self, value: u16) -> [u8; 2] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = self.number(12 + body.len() as u32);
        let kind = self.number(kind);
        self.content.extend([&kind[..], &length, &body, &length].concat());
        self
    }

    fn section(&mut self) -> &mut Self {
        self.section_of_version(1, 0)
    }

    fn section_of_version(&mut self, major: u16, minor: u16) -> &mut Self {
        let mut body = self.number(0x1a2b_3c4d).to_vec();
        body.extend([self.short(major), self.short(minor)].concat());
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    fn interface(&mut self, link: u16, snap_bytes: u32, options: &[(u16, Vec<u8>)]) -> &mut Self {
        let mut body = [&self.short(link)[..], &[0, 0], &self.number(snap_bytes)].concat();
        for (code, value) in options {
            body.extend(self.short(*code));
            body.extend(self.short(value.len() as u16));
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(1, &body)
    }

    fn enhanced(&mut self, interface: u32, units: u64, frame: &[u8], wire_bytes: u32) -> &mut Self {
        let fields = [
            interface,
            (units >> 32) as u32,
            units as u32,
            frame.len() as u32,
            wire_bytes,
        ];
        let mut body: Vec<u8> = fields.iter().flat_map(|field| self.number(*field)).collect();
        body.extend(frame);
        self.block(6, &body)
    }
}

fn read(content: &[u8]) -> (Packets, Option<Fault>) {
    let mut reader = match CaptureReader::new(reader_over(content)) {
        Ok(reader) => reader,
        Err(fault) => return (Vec::new(), Some(fault)),
    };
    let mut packets = Vec::new();
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => packets.push((packet.time_ns, packet.wire_bytes, packet.frame.to_vec())),
            Ok(None) => return (packets, None),
            Err(fault) => return (packets, Some(fault)),
        }
    }
}

#[test]
fn every_kind_of_packet_block_is_read_in_both_byte_orders() {
    for big_endian in [false, true] {
        let mut blocks = Blocks::new(big_endian);
        blocks
            .interface(1, 0, &[])
            .enhanced(0, 2_000_001, b"one", 60)
            .block(0x0bad, b"of a later version")
            .block(5, &[0; 8]);
        let simple = [&blocks.number(4)[..], b"four"].concat();
        blocks.block(3, &simple);
        let obsolete = [
            &blocks.short(0)[..],
            &[0, 0],
            &blocks.number(0),
            &blocks.number(3_000_000),
            &blocks.number(5),
            &blocks.number(7),
            b"fives",
        ]
        .concat();
        blocks.block(2, &obsolete);
        let expected = vec![
            (2_000_001_000, 60, b"one".to_vec()),
            (2_000_001_000, 4, b"four".to_vec()),
            (3_000_000_000, 7, b"fives".to_vec()),
        ];
        assert_eq!(read(&blocks.content), (expected, None));
    }
}

#[test]
fn a_block_without_a_time_that_follows_none_is_implausible() {
    let mut blocks = Blocks::new(false);
    blocks.interface(1, 0, &[]);
    let simple = [&blocks.number(4)[..], b"four"].concat();
    blocks.block(3, &simple);
    let mut reader = CaptureReader::new(reader_over(&blocks.content)).unwrap();
    let packet = reader.next_packet().unwrap().unwrap();
    assert_eq!(packet.implausible(), Some(PacketRefusal::TimeImplausible));
}

#[test]
fn every_interface_has_its_own_clock() {
    let mut blocks = Blocks::new(false);
    let resolution = |value: u8| (9, vec![value]);
    blocks
        .interface(1, 0, &[resolution(9)])
        .interface(1, 0, &[resolution(0x8a)])
        .interface(1, 0, &[resolution(0), (14, 100i64.to_le_bytes().to_vec())])
        .interface(1, 0, &[resolution(0xff), (14, i64::MAX.to_le_bytes().to_vec())]);
    for (interface, units) in [(0, 7), (1, 1536), (2, 3), (3, u64::MAX)] {
        blocks.enhanced(interface, units, b"", 0);
    }
    let times: Vec<_> = read(&blocks.content).0.iter().map(|packet| packet.0).collect();
    assert_eq!(times, [7, 1_500_000_000, 103_000_000_000, i64::MAX / 2]);
}

#[test]
fn a_section_begins_again_with_its_interfaces_and_byte_order() {
    let mut first = Blocks::new(false);
    first.interface(1, 0, &[]).enhanced(0, 1, b"a", 1);
    let mut second = Blocks::new(true);
    second.enhanced(0, 1, b"b", 1);
    let (packets, fault) = read(&[first.content.clone(), second.content].concat());
    assert_eq!(packets.len(), 1);
    let fault = fault.unwrap();
    assert_eq!(fault.kind, FaultKind::CorruptRecord);
    assert_eq!(fault.offset, Some(first.content.len() as u64 + 28));
    assert!(fault.message.contains("does not describe"));
}

#[test]
fn damage_is_told_with_its_offset_after_what_came_before() {
    let mut blocks = Blocks::new(false);
    blocks.interface(1, 0, &[]).enhanced(0, 1, b"abcd", 4);
    let start = blocks.content.len();
    blocks.enhanced(0, 2, b"efgh", 4);
    let damaged = |place: usize, value: u8| {
        let mut content = blocks.content.clone();
        content[place] = value;
        read(&content)
    };
    let end = blocks.content.len();
    for (place, value, part) in [
        (start + 4, 3, "length 3"),
        (start + 7, 0x7f, "is not one of"),
        (start + 20, 200, "beyond the block"),
        (start + 8, 1, "does not describe"),
        (end - 4, 9, "length at its end"),
    ] {
        let (packets, fault) = damaged(place, value);
        let fault = fault.unwrap();
        assert_eq!((packets.len(), fault.offset), (1, Some(start as u64)));
        assert!(fault.message.contains(part), "{}", fault.message);
    }
    let (packets, fault) = read(&blocks.content[..end - 1]);
    assert_eq!((packets.len(), fault.unwrap().kind), (1, FaultKind::Truncated));
}

#[test]
fn a_version_that_is_not_known_is_reported() {
    for big_endian in [true, false] {
        // capinfos refuses the same versions, and no other.
        for (version, is_read) in [
            ((1, 0), true),
            ((1, 2), true),
            ((1, 1), false),
            ((2, 0), false),
            ((0, 1), false),
        ] {
            let mut blocks = Blocks::new(big_endian);
            blocks.interface(1, 0, &[]).enhanced(0, 1, &[1; 20], 20);
            let second = blocks.content.len() as u64;
            blocks.section_of_version(version.0, version.1);
            blocks.interface(1, 0, &[]).enhanced(0, 2, &[2; 20], 20);
            let (packets, fault) = read(&blocks.content);
            if is_read {
                assert_eq!((packets.len(), fault), (2, None));
                continue;
            }
            let fault = fault.unwrap();
            assert_eq!((packets.len(), fault.offset), (1, Some(second)));
            assert!(
                fault
                    .message
                    .contains(&format!("pcapng version {}.{}", version.0, version.1))
            );
            // Where it is the first section, nothing is read.
            let (packets, fault) = read(&blocks.content[second as usize..]);
            assert_eq!((packets.len(), fault.unwrap().offset), (0, Some(0)));
        }
    }
}
