//! One line of an M-Lab tcp-info file: a netlink message of `sock_diag` as JSON, its parts in base64.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use crate::connection::tcp_info::structure::TcpInfo;
use crate::input::bytes::be_u16;
use crate::input::utc_time::parse_rfc3339_ns;

// Attribute numbers (include/uapi/linux/inet_diag.h): the place of an attribute in the array.
const INET_DIAG_INFO: usize = 2;
const INET_DIAG_CONG: usize = 4;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// Bytes of `struct inet_diag_msg` up to and with the socket's identity.
const SOCKET_ID_END: usize = 52;
/// The longest name of a congestion control (`TCP_CA_NAME_MAX`).
const CONGESTION_CONTROL_BYTES: usize = 16;

#[derive(Deserialize)]
struct Line<'l> {
    #[serde(borrow, rename = "Timestamp")]
    timestamp: Option<Cow<'l, str>>,
    #[serde(borrow, rename = "RawIDM")]
    message: Option<Cow<'l, str>>,
    #[serde(borrow, default, rename = "Attributes")]
    attributes: Option<Vec<Option<Cow<'l, str>>>>,
    #[serde(borrow, rename = "Metadata")]
    metadata: Option<MetadataLine<'l>>,
}

#[derive(Deserialize)]
struct MetadataLine<'l> {
    #[serde(borrow, rename = "StartTime")]
    start_time: Option<Cow<'l, str>>,
}

/// What identifies a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SocketId {
    pub(crate) local: IpAddr,
    pub(crate) local_port: u16,
    pub(crate) peer: IpAddr,
    pub(crate) peer_port: u16,
    pub(crate) cookie: u64,
}

/// One poll of one socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Poll {
    /// `None` if the recorder set no time.
    pub(crate) time_ns: Option<i64>,
    pub(crate) socket: SocketId,
    pub(crate) info: Option<TcpInfo>,
    pub(crate) congestion_control: Option<String>,
}

/// What a line holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Poll(Box<Poll>),
    /// Start of the connection whose polls follow.
    Metadata {
        start_ns: Option<i64>,
    },
}

/// Read one line; the error says what is wrong with it.
pub(crate) fn parse(line: &[u8]) -> Result<Record, Cow<'static, str>> {
    // What serde says of an error may quote the line, which holds addresses.
    let describe = |error: &serde_json::Error| {
        format!(
            "no record, at column {} ({:?} error)",
            error.column(),
            error.classify()
        )
    };
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| describe(&error))?;
    let Some(message) = line.message else {
        let metadata = line.metadata.ok_or("neither RawIDM nor Metadata")?;
        let start_ns = metadata.start_time.and_then(|time| parse_rfc3339_ns(&time));
        return Ok(Record::Metadata { start_ns });
    };
    let message = base64(&message).ok_or("RawIDM is not base64")?;
    let attribute = |number: usize| {
        let text = line.attributes.as_deref()?.get(number)?.as_deref()?;
        Some(base64(text).ok_or("an attribute is not base64"))
    };
    let info = attribute(INET_DIAG_INFO)
        .transpose()?
        .map(|bytes| TcpInfo::decode(&bytes));
    let congestion_control = attribute(INET_DIAG_CONG)
        .transpose()?
        .and_then(|bytes| name(&bytes));
    Ok(Record::Poll(Box::new(Poll {
        time_ns: line.timestamp.and_then(|time| parse_rfc3339_ns(&time)),
        socket: socket_id(&message)?,
        info,
        congestion_control,
    })))
}

fn base64(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text).ok()
}

fn name(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let name = bytes.get(..end.min(CONGESTION_CONTROL_BYTES))?;
    (!name.is_empty() && name.iter().all(u8::is_ascii_graphic))
        .then(|| String::from_utf8_lossy(name).into_owned())
}

fn socket_id(message: &[u8]) -> Result<SocketId, Cow<'static, str>> {
    if message.len() < SOCKET_ID_END {
        return Err(format!("inet_diag_msg needs {SOCKET_ID_END} bytes, has {}", message.len()).into());
    }
    let family = message.first().copied().unwrap_or_default();
    let address = |offset: usize| {
        let bytes: [u8; 16] = message.get(offset..offset + 16)?.try_into().ok()?;
        match family {
            AF_INET => Some(IpAddr::V4(Ipv4Addr::from(u32::from_be_bytes(
                bytes.get(..4)?.try_into().ok()?,
            )))),
            AF_INET6 => Some(IpAddr::V6(Ipv6Addr::from(bytes))),
            _ => None,
        }
    };
    let id = || {
        Some(SocketId {
            local_port: be_u16(message, 4)?,
            peer_port: be_u16(message, 6)?,
            local: address(8)?.to_canonical(),
            peer: address(24)?.to_canonical(),
            cookie: u64::from_le_bytes(message.get(44..52)?.try_into().ok()?),
        })
    };
    id().ok_or_else(|| format!("address family {family} is neither IPv4 nor IPv6").into())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A line with one poll, as M-Lab's recorder writes it.
    pub(crate) fn line(
        time: &str,
        peer: [u8; 4],
        cookie: u8,
        rtt_us: u32,
        min_rtt_us: u32,
        sent: u64,
    ) -> String {
        let mut message = vec![AF_INET, 1, 0, 0, 0x01, 0xbb, 0xc0, 0x01];
        message.extend([10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        message.extend(peer);
        message.extend([0; 12]);
        message.extend([0, 0, 0, 0, cookie, 0, 0, 0, 0, 0, 0, 0]);
        message.extend([0; 20]);
        let mut info = vec![0u8; 232];
        info[68..72].copy_from_slice(&rtt_us.to_le_bytes());
        info[100..104].copy_from_slice(&3u32.to_le_bytes());
        info[120..128].copy_from_slice(&(sent / 2).to_le_bytes());
        info[148..152].copy_from_slice(&min_rtt_us.to_le_bytes());
        info[200..208].copy_from_slice(&sent.to_le_bytes());
        format!(
            "{{\"Timestamp\":\"{time}\",\"RawIDM\":\"{}\",\"Attributes\":[null,null,\"{}\",null,\"{}\"]}}\n",
            BASE64_STANDARD.encode(message),
            BASE64_STANDARD.encode(info),
            BASE64_STANDARD.encode(b"bbr\0"),
        )
    }

    #[test]
    fn a_poll_is_read() {
        let Record::Poll(poll) =
            parse(line("2020-01-01T00:00:01Z", [192, 0, 2, 9], 7, 20_500, 20_000, 90).as_bytes()).unwrap()
        else {
            panic!("a poll")
        };
        assert_eq!(poll.time_ns, Some(1_577_836_801_000_000_000));
        assert_eq!(poll.congestion_control.as_deref(), Some("bbr"));
        assert_eq!(poll.socket.peer.to_string(), "192.0.2.9");
        assert_eq!(
            (poll.socket.local_port, poll.socket.peer_port, poll.socket.cookie),
            (443, 49_153, 7)
        );
        assert_eq!(poll.info.unwrap().sent_bytes, Some(90));
    }

    #[test]
    fn metadata_are_read_and_other_lines_told() {
        let metadata = br#"{"Timestamp":"0001-01-01T00:00:00Z","Metadata":{"UUID":"u","Sequence":1,"StartTime":"2019-04-01T07:42:37.371Z"}}"#;
        assert_eq!(
            parse(metadata),
            Ok(Record::Metadata {
                start_ns: Some(1_554_104_557_371_000_000)
            })
        );
        for line in [
            "",
            "{}",
            "[1]",
            r#"{"RawIDM":"%%"}"#,
            r#"{"RawIDM":"AAAA"}"#,
            "\u{ff}",
        ] {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
        let error = parse(br#"{"RawIDM":"","Attributes":"192.0.2.9"}"#).unwrap_err();
        assert!(!error.contains("192") && error.contains("Data error"), "{error}");
    }
}
