//! The search for a flow's `ClientHello` in the first packets that have a payload.

use crate::flow::tcp::connection::TcpConnection;
use crate::packet::direction::Direction;
use crate::packet::types::TcpSegment;
use crate::server::assembly::Assembly;
use crate::server::client_hello::{ClientHello, HELLO_BYTES, Progress};
use crate::server::flow_server::{HelloOutcome, NameSource, Server};
use crate::server::name::ServerNames;
use crate::server::quic::{Brought, ClientCrypto, next_initial};
use crate::server::tls;
use crate::twos_complement::TwosComplement;

/// Packets with a payload that are looked at for the start of a message. Mail and XMPP speak in plain before the handshake.
const PACKETS: u16 = 24;
/// Packets with a payload that pass until a message that has begun is whole: clients that hide it send a byte in each.
const PACKETS_OF_MESSAGES: u16 = 2048;
/// Times that a message is read anew whenever more of it is there; after them, only when an eighth more is.
const READ_OFTEN: u16 = 64;

#[derive(Debug)]
enum Message {
    /// The number of its first byte, and the stream from there on.
    Tls(u32, Assembly),
    Quic(Box<ClientCrypto>),
}

/// A message that is not there whole yet.
#[derive(Debug)]
struct Reading {
    direction: Direction,
    message: Message,
    /// How often it was read, and how many bytes were there the last time.
    times_read: u16,
    bytes_read: usize,
}

impl Reading {
    fn new(direction: Direction, message: Message) -> Self {
        Self {
            direction,
            message,
            times_read: 0,
            bytes_read: 0,
        }
    }

    /// How many bytes are there from the start on.
    fn bytes(&self) -> usize {
        match &self.message {
            Message::Tls(_, assembly) => assembly.beginning().len(),
            Message::Quic(crypto) => crypto.messages().len(),
        }
    }

    /// Whether enough is new for the message to be read again; if so, this counts as having read it.
    fn is_due(&mut self) -> bool {
        let bytes = self.bytes();
        let more = bytes.saturating_sub(self.bytes_read);
        let enough = self.times_read < READ_OFTEN || more >= self.bytes_read / 8 || self.is_full();
        if more == 0 || !enough {
            return false;
        }
        self.times_read = self.times_read.saturating_add(1);
        self.bytes_read = bytes;
        true
    }

    /// Whether it waits for the start of what the other end sends, which may be no handshake.
    fn waits_in_vain(&self, direction: Direction) -> bool {
        match &self.message {
            Message::Tls(_, assembly) => self.direction != direction && assembly.beginning().is_empty(),
            Message::Quic(_) => false,
        }
    }

    /// Whether no further byte can be kept.
    fn is_full(&self) -> bool {
        let most = match &self.message {
            Message::Tls(..) => tls::STREAM_BYTES,
            Message::Quic(_) => HELLO_BYTES,
        };
        self.bytes() >= most
    }
}

/// The state of the search in one flow.
#[derive(Debug)]
pub(crate) struct ServerSearch {
    packets_left: u16,
    message_packets_left: u16,
    names: ServerNames,
    reading: Option<Box<Reading>>,
}

impl ServerSearch {
    pub(crate) fn new(names: ServerNames) -> Self {
        Self {
            packets_left: PACKETS,
            message_packets_left: PACKETS_OF_MESSAGES,
            names,
            reading: None,
        }
    }

    /// Whether further packets are looked at.
    pub(crate) fn is_open(&self) -> bool {
        self.packets_left > 0 || self.is_reading()
    }

    /// Whether bytes are kept until a message is whole.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Look at a segment with a payload, of which `payload` was captured.
    pub(crate) fn segment(
        &mut self,
        direction: Direction,
        segment: &TcpSegment,
        payload: &[u8],
        connection: &TcpConnection,
        server: &mut Option<Box<Server>>,
    ) {
        self.count_packet();
        // A SYN takes the number before its data (RFC 7413).
        let sequence = segment
            .sequence
            .wrapping_add(u32::from(segment.has(TcpSegment::SYN)));
        let begins = tls::begins_hello(payload);
        if self
            .reading
            .as_deref()
            .is_none_or(|reading| begins && reading.waits_in_vain(direction))
        {
            let own = connection.directions.get(direction);
            let first = own.initial_sequence.map(|initial| initial.wrapping_add(1));
            let ahead = first.map_or(0, |first| sequence.wrapping_sub(first) as usize);
            let alone = own.unique_payload_bytes <= i64::try_from(payload.len()).unwrap_or(i64::MAX);
            let start = match first {
                // The first to pass is not the first of the stream: the latter may bring the start of the message.
                Some(first) if alone && (1..tls::STREAM_BYTES).contains(&ahead) => first,
                _ if begins => sequence,
                _ => return self.finish_if_over(server),
            };
            let message = Message::Tls(start, Assembly::new(tls::STREAM_BYTES));
            self.reading = Some(Box::new(Reading::new(direction, message)));
        }
        if let Some(reading) = &mut self.reading {
            if reading.direction == direction {
                if let Message::Tls(start, assembly) = &mut reading.message {
                    let offset = sequence.wrapping_sub(*start).signed();
                    // A repeated segment may begin before the message.
                    let before = usize::try_from(-i64::from(offset.min(0))).unwrap_or(usize::MAX);
                    let offset = usize::try_from(offset.max(0)).unwrap_or(usize::MAX);
                    assembly.add(offset, payload.get(before..).unwrap_or_default());
                    self.judge(server, false);
                }
            }
        }
        self.finish_if_over(server);
    }

    /// Look at a datagram, of which `payload` was captured.
    pub(crate) fn datagram(
        &mut self,
        direction: Direction,
        payload: &[u8],
        server: &mut Option<Box<Server>>,
    ) {
        self.count_packet();
        let mut rest = payload;
        // Keys follow from the connection ID, which all packets of a datagram have (RFC 9000, section 12.2).
        let mut has_derived = false;
        while let Some(initial) = next_initial(&mut rest) {
            let brought = match self.reading.as_deref_mut() {
                Some(Reading {
                    direction: client, ..
                }) if *client != direction => break,
                Some(Reading {
                    message: Message::Quic(crypto),
                    ..
                }) => crypto.packet(&initial),
                _ => Brought::NotDecrypted,
            };
            if brought == Brought::Frames {
                continue;
            }
            if std::mem::replace(&mut has_derived, true) {
                break;
            }
            // The first packet, or the first after a Retry, from which other keys follow.
            match ClientCrypto::begin(&initial) {
                Ok(crypto) => {
                    let message = Message::Quic(Box::new(crypto));
                    self.reading = Some(Box::new(Reading::new(direction, message)));
                }
                Err(why) if self.reading.is_none() => {
                    let server = server.get_or_insert_default();
                    server.quic_version = Some(initial.version.name);
                    server.outcome = Some(match why {
                        Brought::Cut => HelloOutcome::Cut,
                        _ => HelloOutcome::NotDecrypted,
                    });
                }
                Err(_) => {}
            }
        }
        self.judge(server, false);
        self.finish_if_over(server);
    }

    /// End the search: of a message that is not whole, take what is there.
    pub(crate) fn finish(&mut self, server: &mut Option<Box<Server>>) {
        self.packets_left = 0;
        self.judge(server, true);
        self.reading = None;
    }

    fn count_packet(&mut self) {
        let left = if self.is_reading() {
            &mut self.message_packets_left
        } else {
            &mut self.packets_left
        };
        *left = left.saturating_sub(1);
    }

    fn finish_if_over(&mut self, server: &mut Option<Box<Server>>) {
        // The last packet may have begun a message.
        if self.message_packets_left == 0 || (self.packets_left == 0 && !self.is_reading()) {
            self.finish(server);
        }
    }

    /// See whether the message is whole, or, at the end, what of it is there.
    fn judge(&mut self, server: &mut Option<Box<Server>>, at_end: bool) {
        let Some(reading) = self.reading.as_deref_mut() else {
            return;
        };
        if !at_end && !reading.is_due() {
            return;
        }
        let names = self.names;
        let mut tell = |progress: Progress<ClientHello<'_>>, source| {
            let (hello, over) = match progress {
                Progress::Never => return Some(false),
                Progress::Found(hello) => (Some(hello), true),
                Progress::More(hello) => (hello, false),
            };
            if !over && !at_end {
                return None;
            }
            server
                .get_or_insert_default()
                .tell(hello.as_ref(), names, source, HelloOutcome::Cut);
            Some(true)
        };
        let over = match &reading.message {
            Message::Tls(_, assembly) if assembly.beginning().is_empty() => at_end.then_some(false),
            Message::Tls(_, assembly) => {
                tls::with_hello(assembly.beginning(), |progress| tell(progress, NameSource::Tls))
            }
            Message::Quic(crypto) => {
                let messages = crypto.messages();
                let outcome = tell(ClientHello::read(messages), NameSource::Quic);
                if outcome == Some(true) {
                    if let Some(server) = server {
                        server.quic_version = Some(crypto.version.name);
                    }
                }
                outcome
            }
        };
        match over {
            Some(true) => {
                self.packets_left = 0;
                self.reading = None;
            }
            // No handshake: one may follow what was said in plain.
            Some(false) => self.reading = None,
            None if reading.is_full() => self.reading = None,
            None => {}
        }
    }
}
