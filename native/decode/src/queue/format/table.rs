//! Queue logs as tables: JSON Lines or CSV with declared columns and units.

use std::net::IpAddr;
use std::num::NonZeroI64;

use serde::de::Deserializer;

use crate::output::fault::{Fault, FaultKind};
use crate::packet::protocol::{PROTOCOL_TCP, PROTOCOL_UDP};
use crate::queue::event::{DropCause, EventKind, NetworkFields, QueueEvent, QueueId, QueueItem, kept_text};
use crate::queue::flow::{FlowCache, QueueFlow};
use crate::queue::format::table_declaration::{
    ECN_CE, EventNames, FIELDS, TableDeclaration, TableForm, Unit, number_in, unit,
};
use crate::queue::format::table_object::{Collector, Value};

/// Reader of one table; for CSV the header has to be given first.
#[derive(Debug)]
pub(crate) struct TableReader {
    form: TableForm,
    delimiter: u8,
    event: EventNames,
    /// Names of the columns that are used, each once.
    columns: Vec<String>,
    event_column: usize,
    packet_columns: Vec<usize>,
    /// Of each field: the place among `columns`, and the power of ten or factor of its unit.
    places: Vec<Option<(usize, Unit)>>,
    ecn_place: Option<usize>,
    /// CSV: of each field of a record, the place among `columns`.
    header: Option<Vec<Option<usize>>>,
    values: Vec<Value>,
    /// Keys of the line before, in their order, with their place among `columns`.
    keys: Vec<(String, Option<usize>)>,
    fields: Vec<u8>,
    ends: Vec<usize>,
    flows: FlowCache,
}

/// A value is not of its kind.
#[derive(Debug)]
struct Malformed;

impl TableReader {
    pub(crate) fn new(declaration: TableDeclaration) -> Result<Self, Fault> {
        let mut columns: Vec<String> = Vec::new();
        let mut place = |name: &str| {
            columns
                .iter()
                .position(|column| column == name)
                .unwrap_or_else(|| {
                    columns.push(name.to_owned());
                    columns.len() - 1
                })
        };
        let event_column = place(&declaration.event.column);
        let packet_columns = declaration.packet.iter().map(|name| place(name)).collect();
        let mut places = Vec::new();
        for field in FIELDS {
            let declared = declaration.fields.get(field);
            places.push(match declared {
                Some(declared) => Some((place(&declared.column), unit(field, declared.unit.as_deref())?)),
                None => None,
            });
        }
        let ecn_place = declaration
            .fields
            .get(ECN_CE)
            .map(|declared| place(&declared.column));
        let unknown = declaration
            .fields
            .keys()
            .find(|name| !FIELDS.contains(&name.as_str()) && *name != ECN_CE);
        if let Some(name) = unknown {
            return Err(Fault::new(
                FaultKind::UnrecognisedFormat,
                format!("queue log declaration: {name} is not a field of a queue log"),
                None,
            ));
        }
        let values = vec![Value::default(); columns.len()];
        Ok(Self {
            form: declaration.form,
            delimiter: declaration
                .delimiter
                .and_then(|text| text.bytes().next())
                .unwrap_or(b','),
            event: declaration.event,
            columns,
            event_column,
            packet_columns,
            places,
            ecn_place,
            header: None,
            values,
            keys: Vec::new(),
            fields: Vec::new(),
            ends: Vec::new(),
            flows: FlowCache::default(),
        })
    }

    /// Read one line without its end; `None` if it is malformed.
    pub(crate) fn parse_line(&mut self, line: &[u8]) -> Option<QueueItem> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Some(QueueItem::Nothing);
        }
        match self.form {
            TableForm::JsonLines => {
                for value in &mut self.values {
                    value.is_present = false;
                }
                let text = std::str::from_utf8(line).ok()?;
                let mut deserializer = serde_json::Deserializer::from_str(text);
                let collector = Collector {
                    columns: &self.columns,
                    values: &mut self.values,
                    keys: &mut self.keys,
                };
                deserializer.deserialize_map(collector).ok()?;
                deserializer.end().ok()?;
            }
            TableForm::Csv => {
                let fields = self.split(line)?;
                let Some(header) = &self.header else {
                    self.header = Some(self.header_of(&fields)?);
                    return Some(QueueItem::Nothing);
                };
                if fields.len() != header.len() {
                    return None;
                }
                for (field, place) in fields.into_iter().zip(header) {
                    if let Some(value) = place.and_then(|place| self.values.get_mut(place)) {
                        value.set(Some(field.as_str()).filter(|field| !field.is_empty()));
                    }
                }
            }
        }
        self.item().ok()
    }

    /// The fields of a CSV record, quotes undone.
    fn split(&mut self, line: &[u8]) -> Option<Vec<String>> {
        let mut reader = csv_core::ReaderBuilder::new().delimiter(self.delimiter).build();
        self.fields.resize(line.len() + 1, 0);
        self.ends.resize(line.len() + 2, 0);
        let (_, _, written, begun) = reader.read_record(line, &mut self.fields, &mut self.ends);
        // An empty input is the end of the record.
        let (_, _, more, ended) =
            reader.read_record(&[], self.fields.get_mut(written..)?, self.ends.get_mut(begun..)?);
        let text = self.fields.get(..written + more)?;
        let mut start = 0;
        let mut fields = Vec::with_capacity(begun + ended);
        for end in self.ends.get(..begun + ended)? {
            fields.push(
                std::str::from_utf8(text.get(start..*end)?)
                    .ok()?
                    .trim()
                    .to_owned(),
            );
            start = *end;
        }
        Some(fields)
    }

    /// Which field of each record is which column; `None` if a declared column is missing.
    fn header_of(&self, fields: &[String]) -> Option<Vec<Option<usize>>> {
        let complete = self.columns.iter().all(|column| fields.contains(column));
        complete.then(|| {
            fields
                .iter()
                .map(|field| self.columns.iter().position(|column| column == field))
                .collect()
        })
    }

    /// A text that is kept with the packet.
    fn kept(&self, place: usize) -> Result<Option<Box<str>>, Malformed> {
        self.text(place)
            .map(|text| kept_text(text).ok_or(Malformed))
            .transpose()
    }

    fn text(&self, field: usize) -> Option<&str> {
        let (place, _) = (*self.places.get(field)?)?;
        self.values.get(place)?.get()
    }

    /// A whole number in the lake's unit; `None` if it is not there.
    fn number<N: TryFrom<i64>>(&self, field: usize) -> Result<Option<N>, Malformed> {
        let (Some(text), Some(Some((_, unit)))) = (self.text(field), self.places.get(field)) else {
            return Ok(None);
        };
        let number = number_in(text, *unit).ok_or(Malformed)?;
        N::try_from(number).map(Some).map_err(|_| Malformed)
    }

    /// A number that is never negative.
    fn length<N: TryFrom<i64> + PartialOrd + Default>(&self, field: usize) -> Result<Option<N>, Malformed> {
        match self.number(field)? {
            Some(length) if length < N::default() => Err(Malformed),
            length => Ok(length),
        }
    }

    fn item(&mut self) -> Result<QueueItem, Malformed> {
        let name = self
            .values
            .get(self.event_column)
            .and_then(Value::get)
            .ok_or(Malformed)?;
        let is = |names: &[String]| names.iter().any(|declared| declared == name);
        let kind = if is(&self.event.enqueue) {
            EventKind::Enqueue
        } else if is(&self.event.dequeue) {
            EventKind::Dequeue
        } else if is(&self.event.drop) {
            EventKind::Drop
        } else if is(&self.event.lost) {
            let events: i64 = self.number(21)?.unwrap_or(1);
            return if events < 0 {
                Err(Malformed)
            } else {
                Ok(QueueItem::Lost {
                    events,
                    saturated: false,
                })
            };
        } else {
            return Err(Malformed);
        };
        let queue = QueueId {
            network_namespace: self.number(5)?,
            interface_index: self.number(6)?,
            interface_name: self.text(7).map(|name| {
                let mut padded = [0; 16];
                for (to, from) in padded.iter_mut().zip(name.bytes()) {
                    *to = from;
                }
                padded
            }),
            handle: self.number(8)?,
        };
        let time_ns = self.number(0)?.ok_or(Malformed)?;
        let network = self.network()?;
        let cause = if kind == EventKind::Drop {
            Some(Box::new(DropCause {
                kind: match self.text(17) {
                    Some("overlimit") => Some("overlimit"),
                    Some("aqm") => Some("aqm"),
                    Some(_) => return Err(Malformed),
                    None => None,
                },
                reason: self.number(18)?,
                location: self.kept(19)?,
                is_refusal: false,
            }))
        } else {
            None
        };
        Ok(QueueItem::Event(
            queue,
            QueueEvent {
                packet_bytes: self.length(2)?,
                queue_packets: self.length(3)?,
                queue_bytes: self.length(4)?,
                ethertype: self.number(9)?,
                network,
                flow_label: self.kept(20)?,
                ecn_ce: match self.ecn_place.and_then(|place| self.values.get(place)?.get()) {
                    None => None,
                    Some("true" | "True" | "1") => Some(true),
                    Some("false" | "False" | "0") => Some(false),
                    Some(_) => return Err(Malformed),
                },
                measured_ns: NonZeroI64::new(self.number::<i64>(1)?.unwrap_or(0).max(0)),
                cause,
                ..QueueEvent::new(kind, time_ns, self.packet().ok_or(Malformed)?)
            },
        ))
    }

    fn network(&mut self) -> Result<Option<NetworkFields>, Malformed> {
        let (Some(source), Some(destination)) = (self.text(11), self.text(13)) else {
            return Ok(None);
        };
        let protocol = match self.text(10).ok_or(Malformed)? {
            "tcp" | "TCP" => PROTOCOL_TCP,
            "udp" | "UDP" => PROTOCOL_UDP,
            number => number.parse().map_err(|_| Malformed)?,
        };
        let ports: (Option<u16>, Option<u16>) = (self.number(12)?, self.number(14)?);
        let flow = QueueFlow {
            source: source.parse::<IpAddr>().map_err(|_| Malformed)?,
            destination: destination.parse::<IpAddr>().map_err(|_| Malformed)?,
            protocol,
            ports: ports.0.zip(ports.1),
        };
        Ok(Some(NetworkFields {
            flow: self.flows.shared(flow),
            ip_id: self.number(15)?,
            transport_word: self.number(16)?,
        }))
    }

    /// One number out of the columns that identify a packet.
    fn packet(&self) -> Option<u64> {
        let mut values = self
            .packet_columns
            .iter()
            .map(|place| self.values.get(*place).and_then(Value::get));
        if let [_] = *self.packet_columns {
            let text = values.next()??;
            let number = match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            };
            return Some(number.unwrap_or_else(|| hash([Some(text)].into_iter())));
        }
        Some(hash(values))
    }
}

/// FNV-1a over texts, with their ends.
fn hash<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> u64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    for text in texts {
        for byte in text.unwrap_or_default().bytes().chain([0xff]) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(declaration: &str) -> TableReader {
        TableReader::new(TableDeclaration::from_json(declaration).unwrap()).unwrap()
    }

    const JSON: &str = r#"{"form": "json_lines", "clock": "monotonic", "drops_logged": true,
        "event": {"column": "what", "enqueue": ["in"], "dequeue": ["out"], "drop": ["gone"], "lost": ["lost"]},
        "packet": ["id"],
        "fields": {"time": {"column": "t", "unit": "s"}, "packet_bytes": {"column": "len", "unit": "bytes"},
                   "source_address": {"column": "src"}, "destination_address": {"column": "dst"},
                   "protocol": {"column": "proto"}, "source_port": {"column": "sp"}, "destination_port": {"column": "dp"},
                   "lost_events": {"column": "n"}, "ecn_ce": {"column": "ce"}}}"#;
    const CSV: &str = r#"{"form": "csv", "delimiter": ";", "clock": "utc", "drops_logged": false,
        "event": {"column": "what", "enqueue": ["in"], "dequeue": ["out"]}, "packet": ["flow", "seq"],
        "fields": {"time": {"column": "t", "unit": "us"}, "flow_label": {"column": "flow"},
                   "queue_bytes": {"column": "q", "unit": "kB"}}}"#;

    fn event(item: Option<QueueItem>) -> QueueEvent {
        match item {
            Some(QueueItem::Event(_, event)) => event,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn json_values_are_read_in_their_declared_unit() {
        let mut reader = reader(JSON);
        let line = br#"{"t": 1795210205.152902863, "what": "in", "id": "0xff", "len": 98, "src": "10.0.0.1", "dst": "2001:db8::1", "proto": "udp", "sp": 5, "dp": 6, "more": {"a": [1]}, "ce": true}"#;
        let enqueue = event(reader.parse_line(line));
        let network = enqueue.network.unwrap();
        assert_eq!(
            (
                enqueue.kind,
                enqueue.time_ns,
                enqueue.packet,
                enqueue.packet_bytes,
                enqueue.ecn_ce
            ),
            (
                EventKind::Enqueue,
                1_795_210_205_152_902_863,
                0xff,
                Some(98),
                Some(true)
            )
        );
        assert_eq!((network.flow.protocol, network.flow.ports), (17, Some((5, 6))));
        assert_eq!(
            reader.parse_line(br#"{"what": "lost", "n": 7}"#),
            Some(QueueItem::Lost {
                events: 7,
                saturated: false
            })
        );
    }

    #[test]
    fn a_line_that_is_not_as_declared_is_malformed() {
        let mut reader = reader(JSON);
        for line in [
            r#"{"t": 1, "what": "in"}"#,
            r#"{"t": 1, "what": "sideways", "id": 1}"#,
            r#"{"t": "noon", "what": "in", "id": 1}"#,
            r#"{"what": "in", "id": 1}"#,
            r#"{"t": 1, "what": "in", "id": 1, "len": 99999999999}"#,
            r#"{"t": 1, "what": "in", "id": 1, "src": "here", "dst": "there", "proto": 6}"#,
            r#"{"t": 1, "what": "in", "id": 1"#,
            "[1, 2]",
            "{}",
        ] {
            assert_eq!(reader.parse_line(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn csv_columns_are_found_by_the_header() {
        let mut reader = reader(CSV);
        assert_eq!(
            reader.parse_line(b"seq;\"t\";q;what;flow"),
            Some(QueueItem::Nothing)
        );
        let first = event(reader.parse_line(b"9;1.5;1.514;in;\"a;b\"\r"));
        assert_eq!(
            (first.time_ns, first.queue_bytes, first.flow_label.as_deref()),
            (1500, Some(1514), Some("a;b"))
        );
        let same = event(reader.parse_line(b"9;2;;out;\"a;b\""));
        let other = event(reader.parse_line(b"10;2;;out;\"a;b\""));
        assert_eq!((same.packet, same.queue_bytes), (first.packet, None));
        assert_ne!(other.packet, first.packet);
        assert_eq!(reader.parse_line(b"10;2;out"), None);
    }

    #[test]
    fn a_header_without_a_declared_column_is_malformed() {
        assert_eq!(reader(CSV).parse_line(b"seq;t;what;flow"), None);
    }

    #[test]
    fn a_declaration_with_an_unknown_unit_or_field_is_refused() {
        for (from, to) in [("\"us\"", "\"minutes\""), ("queue_bytes", "queue_colour")] {
            let declaration = TableDeclaration::from_json(&CSV.replace(from, to)).unwrap();
            assert!(TableReader::new(declaration).is_err(), "{to}");
        }
        assert!(TableDeclaration::from_json("{}").is_err());
    }
}
