//! Records of TLS (RFC 8446, 5.1) in a stream of TCP, up to the `ClientHello`.

use crate::server::client_hello::{ClientHello, HELLO_BYTES, Progress};
use crate::server::reader::Fields;

const HANDSHAKE: u8 = 22;
const RECORD_BYTES: usize = 1 << 14;

/// Bytes of a stream that are kept: a `ClientHello` in small records has a header for each.
pub(crate) const STREAM_BYTES: usize = 2 * HELLO_BYTES;

/// Whether a segment may be the first of a `ClientHello`.
pub(crate) fn begins_hello(segment: &[u8]) -> bool {
    match segment {
        [HANDSHAKE, 3, minor, rest @ ..] => *minor <= 4 && rest.get(2).is_none_or(|kind| *kind == 1),
        [HANDSHAKE, 3] | [HANDSHAKE] => true,
        _ => false,
    }
}

/// The handshake message at the start of a stream, as far as its records are there, and whether they end in what cannot be
/// one; `None` where it has none.
fn handshake(stream: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut records = Fields(stream);
    let mut message = Vec::new();
    while message.len() < HELLO_BYTES && !records.0.is_empty() {
        let (Some(kind), Some(version)) = (records.u8(), records.u16()) else {
            break;
        };
        if kind != HANDSHAKE || version >> 8 != 3 {
            // Other records may follow the message, not interrupt it.
            return (!message.is_empty()).then_some((message, true));
        }
        let Some(length) = records.u16().map(usize::from) else {
            break;
        };
        if length == 0 || length > RECORD_BYTES {
            return (!message.is_empty()).then_some((message, true));
        }
        message.extend_from_slice(records.0.get(..length).unwrap_or(records.0));
        records.0 = records.0.get(length..).unwrap_or_default();
    }
    Some((message, false))
}

/// Read the `ClientHello` at the start of a stream, and hand it on with what could be read of it.
pub(crate) fn with_hello<T>(stream: &[u8], then: impl FnOnce(Progress<ClientHello<'_>>) -> T) -> T {
    let Some((message, is_over)) = handshake(stream) else {
        return then(Progress::Never);
    };
    then(match ClientHello::read(&message) {
        // Nothing of it is to come any more.
        Progress::More(Some(hello)) if is_over && hello.name.is_some() => Progress::Found(hello.damaged()),
        Progress::More(_) if is_over => Progress::Never,
        progress => progress,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::server::client_hello::tests::hello;

    /// A stream with a message in records of at most `record` bytes.
    pub(crate) fn records(message: &[u8], record: usize) -> Vec<u8> {
        let mut stream = Vec::new();
        for part in message.chunks(record) {
            stream.extend([HANDSHAKE, 3, 1]);
            stream.extend((part.len() as u16).to_be_bytes());
            stream.extend(part);
        }
        stream
    }

    #[test]
    fn a_message_is_put_together_out_of_records_of_any_size() {
        let message = hello("www.example.com", 700);
        for record in [1, 2, 3, 5, 100, 512, 5000] {
            let mut stream = records(&message, record);
            // A record of another kind follows.
            stream.extend([20, 3, 3, 0, 1, 1]);
            with_hello(&stream, |progress| {
                let Progress::Found(read) = progress else {
                    panic!("records of {record} bytes: {progress:?}");
                };
                assert_eq!(read.name, Some(&b"www.example.com"[..]));
            });
        }
    }

    #[test]
    fn a_stream_cut_anywhere_waits_for_more() {
        let message = hello("www.example.com", 60);
        let stream = records(&message, 40);
        for length in 0..stream.len() {
            with_hello(&stream[..length], |progress| {
                assert!(matches!(progress, Progress::More(_)), "{length}");
            });
        }
    }

    #[test]
    fn a_name_is_kept_if_a_record_behind_it_is_damaged() {
        let message = hello("www.example.com", 0);
        let (head, tail) = message.split_at(message.len() - 20);
        let whole = records(head, 5000);
        // A length of none, a length beyond all, another version, and a record of another kind in the middle.
        for header in [
            [22, 3, 1, 0, 0],
            [22, 3, 1, 0x50, 0],
            [22, 9, 9, 0, 20],
            [23, 3, 3, 0, 20],
        ] {
            let stream = [&whole[..], &header, tail].concat();
            with_hello(&stream, |progress| {
                let Progress::Found(read) = progress else {
                    panic!("{header:?}: {progress:?}");
                };
                assert_eq!((read.name, read.damaged), (Some(&b"www.example.com"[..]), true));
            });
            // Without a name there is nothing to keep.
            let short = records(&message[..60], 5000);
            let stream = [&short[..], &header, tail].concat();
            with_hello(&stream, |progress| {
                assert!(!matches!(progress, Progress::Found(_)));
            });
        }
    }

    #[test]
    fn other_streams_are_no_hello() {
        for stream in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            &[22, 3, 1, 0, 0, 1],
            &[22, 3, 1, 0x40, 1, 1],
            &[22, 3, 3, 0, 4, 2, 0, 0, 0],
            &[23, 3, 3, 0, 1, 1],
        ] {
            assert!(with_hello(stream, |progress| progress == Progress::Never));
        }
        assert!(begins_hello(&[22, 3, 1, 2, 0, 1]));
        assert!(!begins_hello(&[22, 3, 1, 2, 0, 2]));
        assert!(!begins_hello(&[23, 3, 1, 2, 0, 1]));
    }
}
