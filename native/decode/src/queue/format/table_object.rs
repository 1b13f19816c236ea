//! One flat JSON object of a table: the values of the declared columns.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Keys of a line that are remembered for the next one.
const MOST_KEYS: usize = 64;

/// What a line says in one column; the text's memory is reused for the next line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Value {
    pub(crate) text: String,
    pub(crate) is_present: bool,
}

impl Value {
    pub(crate) fn get(&self) -> Option<&str> {
        self.is_present.then_some(self.text.as_str())
    }

    pub(crate) fn set(&mut self, text: Option<&str>) {
        self.text.clear();
        self.text.push_str(text.unwrap_or_default());
        self.is_present = text.is_some();
    }
}

/// Takes the values of the wanted keys out of one flat JSON object.
pub(crate) struct Collector<'c> {
    pub(crate) columns: &'c [String],
    pub(crate) values: &'c mut [Value],
    pub(crate) keys: &'c mut Vec<(String, Option<usize>)>,
}

impl<'de> Visitor<'de> for Collector<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        for number in 0.. {
            let wanted = Wanted {
                columns: self.columns,
                keys: self.keys,
                number,
            };
            let Some(place) = map.next_key_seed(wanted)? else {
                break;
            };
            let Some(value) = place.and_then(|place| self.values.get_mut(place)) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let raw = map.next_value::<&RawValue>()?.get();
            match raw.as_bytes() {
                [b'n', ..] => value.set(None),
                [b'"', ..] if raw.contains('\\') => {
                    value.set(serde_json::from_str::<String>(raw).ok().as_deref());
                }
                [b'"', .., b'"'] => value.set(raw.get(1..raw.len() - 1)),
                _ => value.set(Some(raw)),
            }
        }
        Ok(())
    }
}

/// A key as its place among the wanted columns. Lines mostly have the same keys in the same order, so the key
/// that stood there before is tried first.
struct Wanted<'c> {
    columns: &'c [String],
    keys: &'c mut Vec<(String, Option<usize>)>,
    number: usize,
}

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Wanted<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        if let Some((key_before, place)) = self.keys.get(self.number) {
            if key_before == key {
                return Ok(*place);
            }
        }
        let place = self.columns.iter().position(|column| column == key);
        match self.keys.get_mut(self.number) {
            Some(entry) => *entry = (key.to_owned(), place),
            None if self.number < MOST_KEYS => self.keys.push((key.to_owned(), place)),
            None => {}
        }
        Ok(place)
    }
}
