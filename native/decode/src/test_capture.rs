//! Captures and packets for tests, built byte by byte.

use etherparse::PacketBuilder;

/// Header of a little-endian microsecond pcap and its records.
pub(crate) struct TestCapture {
    pub(crate) content: Vec<u8>,
}

impl TestCapture {
    pub(crate) fn new(link_type: u32) -> Self {
        let mut content = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
        content.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        content.extend(262_144_u32.to_le_bytes());
        content.extend(link_type.to_le_bytes());
        Self { content }
    }

    pub(crate) fn record(&mut self, time_us: u32, frame: &[u8]) -> &mut Self {
        self.snapped(time_us, frame, frame.len() as u32)
    }

    /// A record of a frame that was `wire_bytes` long.
    pub(crate) fn snapped(&mut self, time_us: u32, frame: &[u8], wire_bytes: u32) -> &mut Self {
        for field in [
            time_us / 1_000_000,
            time_us % 1_000_000,
            frame.len() as u32,
            wire_bytes,
        ] {
            self.content.extend(field.to_le_bytes());
        }
        self.content.extend(frame);
        self
    }
}

/// An Ethernet frame with TCP over IPv4 from 10.0.0.1:1000 to 10.0.0.2:80.
pub(crate) fn tcp_frame(sequence: u32, payload_bytes: usize) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(1000, 80, sequence, 500)
        .ack(1);
    let mut frame = Vec::new();
    builder.write(&mut frame, &vec![0; payload_bytes]).unwrap();
    frame
}

/// An Ethernet frame with UDP over IPv6 from port 5004 to port 5006.
pub(crate) fn udp6_frame(payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv6([1; 16], [2; 16], 64)
        .udp(5004, 5006);
    let mut frame = Vec::new();
    builder.write(&mut frame, payload).unwrap();
    frame
}

/// A frame of another Ethernet type over the IP packet of an Ethernet frame.
pub(crate) fn with_link_header(header: &[u8], ethernet_frame: &[u8]) -> Vec<u8> {
    [header, &ethernet_frame[14..]].concat()
}

/// The fragments of a UDP datagram of `count` times 1480 bytes from port 1000 to port 53, the first one first.
pub(crate) fn udp_fragments(id: u16, count: u16, version: u8) -> Vec<Vec<u8>> {
    let fragment = |number: u16| {
        let mut payload = vec![number as u8; 1480];
        if number == 0 {
            payload[..8].copy_from_slice(&[1000_u16, 53, count * 1480, 0].map(u16::to_be_bytes).concat());
        }
        let more = u16::from(number + 1 < count);
        let mut frame = vec![0; 12];
        if version == 4 {
            frame.extend([8, 0, 0x45, 0]);
            for field in [1500, id, (more << 13) | (number * 185), 0x4011, 0] {
                frame.extend(field.to_be_bytes());
            }
            frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        } else {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend(1488_u16.to_be_bytes());
            frame.extend([44, 64]);
            frame.extend([[1; 16], [2; 16]].concat());
            frame.extend([17, 0]);
            frame.extend((((number * 185) << 3) | more).to_be_bytes());
            frame.extend(u32::from(id).to_be_bytes());
        }
        frame.extend(payload);
        frame
    };
    (0..count).map(fragment).collect()
}
