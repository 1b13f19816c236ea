//! JSON of which only some values matter: what is of another type than expected counts as absent.
//!
//! Nothing is built for what is passed over, so a document costs little more than its bytes. Of a key that stands twice the
//! last value counts.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A number that counts something: whole, and of 63 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<i64>);

/// A text, or what stands in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Text {
    /// Nothing, or what says nothing: null, false, zero, an empty text, array or object.
    #[default]
    Absent,
    Given(String),
    /// Something else.
    Other,
}

impl Text {
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Given(text) => Some(text),
            Self::Absent | Self::Other => None,
        }
    }
}

/// An object some of whose fields matter.
pub(crate) trait Object: Default {
    /// Take the value of a field, or leave it; whether it was taken.
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, values: &mut A) -> Result<bool, A::Error>;
}

/// An array each of whose elements is looked at and let go.
pub(crate) trait Reduced: Default {
    type Element: for<'de> Deserialize<'de>;

    fn add(&mut self, element: Self::Element);
}

/// An object, where the value is one.
pub(crate) struct MaybeObject<T>(pub(crate) Option<T>);

/// An array, empty where the value is none.
pub(crate) struct MaybeArray<T>(pub(crate) T);

/// A key, which is almost always a piece of the document.
struct Key<'de>(Cow<'de, str>);

struct KeyVisitor;
struct CountVisitor;
struct TextVisitor;
struct ObjectVisitor<T>(PhantomData<T>);
struct ArrayVisitor<T>(PhantomData<T>);

/// The visits that a visitor answers in the same way, whatever the value: `Ok` of what the expression gives.
macro_rules! otherwise {
    ($value:expr; $($visit:ident: $type:ty),*) => {
        $(fn $visit<E>(self, _: $type) -> Result<Self::Value, E> {
            Ok($value)
        })*
    };
}

macro_rules! pass_over {
    (array $value:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            while elements.next_element::<IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
    (object $value:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
            while values.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
}

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Owned(text.to_owned())))
    }
}

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Count, E> {
        Ok(Count(i64::try_from(value).ok()))
    }

    otherwise!(Count(None); visit_i64: i64, visit_f64: f64, visit_bool: bool, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(None))
    }

    pass_over!(array Count(None));
    pass_over!(object Count(None));
}

fn text_where(says_something: bool) -> Text {
    if says_something { Text::Other } else { Text::Absent }
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(if text.is_empty() {
            Text::Absent
        } else {
            Text::Given(text.to_owned())
        })
    }

    fn visit_u64<E>(self, value: u64) -> Result<Text, E> {
        Ok(text_where(value != 0))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Text, E> {
        Ok(text_where(value.abs() > 0.0))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Text, E> {
        Ok(text_where(value))
    }

    otherwise!(Text::Other; visit_i64: i64);

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Text, A::Error> {
        let mut any = false;
        while elements.next_element::<IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(text_where(any))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Text, A::Error> {
        let mut any = false;
        while values.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(text_where(any))
    }
}

impl<'de, T: Object> Visitor<'de> for ObjectVisitor<T> {
    type Value = MaybeObject<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let mut object = T::default();
        while let Some(Key(name)) = values.next_key()? {
            if !object.take(&name, &mut values)? {
                values.next_value::<IgnoredAny>()?;
            }
        }
        Ok(MaybeObject(Some(object)))
    }

    otherwise!(MaybeObject(None); visit_u64: u64, visit_i64: i64, visit_f64: f64, visit_bool: bool, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(MaybeObject(None))
    }

    pass_over!(array MaybeObject(None));
}

impl<'de, T: Reduced> Visitor<'de> for ArrayVisitor<T> {
    type Value = MaybeArray<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut reduced = T::default();
        while let Some(element) = elements.next_element()? {
            reduced.add(element);
        }
        Ok(MaybeArray(reduced))
    }

    otherwise!(MaybeArray(T::default()); visit_u64: u64, visit_i64: i64, visit_f64: f64, visit_bool: bool, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(MaybeArray(T::default()))
    }

    pass_over!(object MaybeArray(T::default()));
}

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

impl<'de, T: Object> Deserialize<'de> for MaybeObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

impl<'de, T: Reduced> Deserialize<'de> for MaybeArray<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArrayVisitor(PhantomData))
    }
}
