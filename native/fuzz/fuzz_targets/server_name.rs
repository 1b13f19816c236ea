//! What names servers: input is cut into TLS streams, QUIC datagrams and answers of DNS, in packets that are whole.
#![no_main]

use arrow_array::{Array, RecordBatch, StringArray};
use libfuzzer_sys::fuzz_target;
use sojourn_decode::{CaptureDecoder, CaptureInput, CaptureOptions, ServerNames};

/// Link type of IP packets without a frame.
const RAW_IP: u32 = 101;
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [192, 0, 2, 1];

fuzz_target!(|input: &[u8]| {
    let (content, records) = capture(input);
    for server_names in [ServerNames::Registrable, ServerNames::Full, ServerNames::None] {
        let options = CaptureOptions {
            server_names,
            ..CaptureOptions::default()
        };
        let mut decoder = CaptureDecoder::open(&[CaptureInput::Memory(content.clone())], options)
            .expect("the file header is whole");
        while let Some((table, batch)) = decoder.next_batch().expect("decoded rows form a batch") {
            if table == "flow" {
                check(&batch, server_names);
            }
        }
        assert_eq!(decoder.summary().records_read, records);
    }
});

/// A capture of packets of four kinds, each with a payload out of the input, and how many there are.
fn capture(input: &[u8]) -> (Vec<u8>, u64) {
    let mut content = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    content.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    content.extend(RAW_IP.to_le_bytes());
    let mut records = 0;
    let mut rest = input;
    while let [kind, place, high, low, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]) & 0x7ff);
        let (payload, next) = after.split_at(length.min(after.len()));
        let (forward, protocol, ports) = match kind & 3 {
            0 => (true, 6, [5000 + u16::from(kind >> 3), 443]),
            1 => (true, 17, [6000 + u16::from(kind >> 3), 443]),
            2 => (false, 17, [53, 7000]),
            _ => (false, 6, [53, 7000 + u16::from(kind >> 3)]),
        };
        let mut transport: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
        if protocol == 6 {
            // The third bit makes it a SYN; places are multiples of 16 behind one.
            let syn = kind & 4 != 0;
            let sequence = (u32::MAX - 50).wrapping_add(if syn { 0 } else { 1 + u32::from(*place) * 16 });
            transport.extend(sequence.to_be_bytes());
            transport.extend([0, 0, 0, 0, 0x50, if syn { 2 } else { 16 }, 1, 0, 0, 0, 0, 0]);
        } else {
            transport.extend((8 + payload.len() as u16).to_be_bytes());
            transport.extend([0, 0]);
        }
        transport.extend(payload);
        let ends = if forward {
            [CLIENT, SERVER]
        } else {
            [SERVER, CLIENT]
        };
        let total = (20 + transport.len()) as u16;
        let header = [
            &[0x45, 0][..],
            &total.to_be_bytes(),
            &[0, 1, 0, 0, 64, protocol, 0, 0],
        ]
        .concat();
        let packet = [&header[..], &ends.concat(), &transport].concat();
        for field in [1000, records as u32, packet.len() as u32, packet.len() as u32] {
            content.extend(field.to_le_bytes());
        }
        content.extend(packet);
        rest = next;
        records += 1;
    }
    (content, records)
}

/// What holds of every flow: a name has a source and a form, and none is kept where none is asked for.
fn check(batch: &RecordBatch, server_names: ServerNames) {
    let texts = |name: &str| {
        let column = batch.column_by_name(name).expect("declared");
        column
            .as_any()
            .downcast_ref::<StringArray>()
            .expect("text")
            .clone()
    };
    let (names, sources) = (texts("server_name"), texts("server_name_source"));
    let protocols = texts("application_protocols_offered");
    for row in 0..batch.num_rows() {
        assert_eq!(names.is_null(row), sources.is_null(row));
        if names.is_valid(row) {
            let name = names.value(row);
            assert!(server_names != ServerNames::None);
            assert!(name.len() <= 253 && name.parse::<std::net::IpAddr>().is_err());
            let of_hosts = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_')
            };
            assert!(name.bytes().all(of_hosts) && name.split('.').all(|label| !label.is_empty()));
            assert!(!name.ends_with(".arpa") && !name.ends_with(".local"));
        }
        if protocols.is_valid(row) {
            assert!(protocols.value(row).bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
