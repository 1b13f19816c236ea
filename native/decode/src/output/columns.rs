//! Arrow batches out of rows: a column is named, typed and filled in one place.

use std::net::IpAddr;
use std::sync::Arc;

use arrow_array::builder::{BooleanBufferBuilder, NullBufferBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_schema::{ArrowError, Field, Schema};
use hashbrown::HashMap;

use crate::output::address_text::AddressText;
use crate::output::fault::{Fault, FaultKind};

/// Different texts, each once, in the order in which they came.
#[derive(Debug, Default)]
struct Dictionary {
    places: Vec<i32>,
    texts: Vec<Box<str>>,
    /// Only of addresses, of which there may be many.
    addresses: HashMap<IpAddr, i32>,
}

impl Dictionary {
    fn add(&mut self, text: &str) -> i32 {
        self.texts.push(text.into());
        i32::try_from(self.texts.len() - 1).unwrap_or(i32::MAX)
    }

    fn push_name(&mut self, text: &str) {
        let position = self.texts.iter().position(|name| **name == *text);
        let place = position.map(|place| i32::try_from(place).unwrap_or(i32::MAX));
        let place = place.unwrap_or_else(|| self.add(text));
        self.places.push(place);
    }

    fn push_address(&mut self, address: IpAddr) {
        let place = if let Some(place) = self.addresses.get(&address) {
            *place
        } else {
            let place = self.add(AddressText::of(address).as_ref());
            self.addresses.insert(address, place);
            place
        };
        self.places.push(place);
    }

    fn into_array(self) -> Result<ArrayRef, ArrowError> {
        let texts = StringArray::from_iter_values(self.texts);
        let array = DictionaryArray::<Int32Type>::try_new(self.places.into(), Arc::new(texts))?;
        Ok(Arc::new(array))
    }
}

/// A column of a batch to which rows are still added.
#[derive(Debug)]
struct Column {
    name: String,
    nullable: bool,
    values: Values,
}

/// Rows of one table, column by column, to which more can be added.
///
/// Wide rows are best added a few at a time, while they are in the processor's cache: each column reads the memory of all
/// rows that are added with it.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    columns: Vec<Column>,
    rows: usize,
}

impl Filled {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn into_batch(self) -> Result<RecordBatch, Fault> {
        self.batch()
            .map_err(|error| Fault::new(FaultKind::Batch, format!("arrow batch: {error}"), None))
    }

    fn batch(self) -> Result<RecordBatch, ArrowError> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let mut fields = Vec::with_capacity(self.columns.len());
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in self.columns {
            let array = column.values.into_array()?;
            fields.push(Field::new(
                column.name,
                array.data_type().clone(),
                column.nullable,
            ));
            arrays.push(array);
        }
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }
}

/// Columns to which the same rows are added, in the order of the table.
pub(crate) struct Columns<'r, R> {
    rows: &'r [R],
    filled: Filled,
    /// The next column.
    place: usize,
}

macro_rules! columns {
    ($($required:ident, $optional:ident: $native:ty => $array:ident;)*) => {
        /// The values of a column; where one is null, any value stands.
        #[derive(Debug)]
        enum Values {
            $($array(Vec<$native>, NullBufferBuilder),)*
            Boolean(BooleanBufferBuilder, NullBufferBuilder),
            Text(StringBuilder),
            Dictionary(Dictionary),
        }

        impl Values {
            fn into_array(self) -> Result<ArrayRef, ArrowError> {
                Ok(match self {
                    $(Self::$array(values, mut nulls) => Arc::new($array::try_new(values.into(), nulls.finish())?),)*
                    Self::Boolean(mut values, mut nulls) => {
                        Arc::new(BooleanArray::new(values.finish(), nulls.finish()))
                    }
                    Self::Text(mut texts) => Arc::new(texts.finish()),
                    Self::Dictionary(dictionary) => dictionary.into_array()?,
                })
            }
        }

        impl<R> Columns<'_, R> {
            $(
                #[allow(dead_code, reason = "not every type has both kinds of column")]
                pub(crate) fn $required(&mut self, name: impl Into<String>, value: impl Fn(&R) -> $native) {
                    let rows = self.rows;
                    let begin = || Values::$array(Vec::new(), NullBufferBuilder::new(0));
                    if let Some(Values::$array(values, nulls)) = self.column(name, false, begin) {
                        values.extend(rows.iter().map(value));
                        nulls.append_n_non_nulls(rows.len());
                    }
                }

                #[allow(dead_code, reason = "not every type has both kinds of column")]
                pub(crate) fn $optional(
                    &mut self,
                    name: impl Into<String>,
                    value: impl Fn(&R) -> Option<$native>,
                ) {
                    let rows = self.rows;
                    let begin = || Values::$array(Vec::new(), NullBufferBuilder::new(0));
                    if let Some(Values::$array(values, nulls)) = self.column(name, true, begin) {
                        let mut missing = 0;
                        values.extend(rows.iter().map(|row| {
                            let value = value(row);
                            missing += usize::from(value.is_none());
                            value.unwrap_or_default()
                        }));
                        // Most often it is all of them or none.
                        if missing == 0 {
                            nulls.append_n_non_nulls(rows.len());
                        } else if missing == rows.len() {
                            nulls.append_n_nulls(missing);
                        } else {
                            for row in rows {
                                nulls.append(value(row).is_some());
                            }
                        }
                    }
                }
            )*
        }
    };
}

columns! {
    int8, optional_int8: i8 => Int8Array;
    int16, optional_int16: i16 => Int16Array;
    int32, optional_int32: i32 => Int32Array;
    int64, optional_int64: i64 => Int64Array;
    float64, optional_float64: f64 => Float64Array;
}

impl<'r, R> Columns<'r, R> {
    pub(crate) fn over(rows: &'r [R]) -> Self {
        Self::onto(Filled::default(), rows)
    }

    /// Add rows to those that are there, which had the same columns in the same order.
    pub(crate) fn onto(filled: Filled, rows: &'r [R]) -> Self {
        Self {
            rows,
            filled,
            place: 0,
        }
    }

    pub(crate) fn bool(&mut self, name: impl Into<String>, value: impl Fn(&R) -> bool) {
        self.booleans(name, false, |row| Some(value(row)));
    }

    pub(crate) fn optional_bool(&mut self, name: impl Into<String>, value: impl Fn(&R) -> Option<bool>) {
        self.booleans(name, true, value);
    }

    fn booleans(&mut self, name: impl Into<String>, nullable: bool, value: impl Fn(&R) -> Option<bool>) {
        let rows = self.rows;
        let begin = || Values::Boolean(BooleanBufferBuilder::new(0), NullBufferBuilder::new(0));
        if let Some(Values::Boolean(values, nulls)) = self.column(name, nullable, begin) {
            for row in rows {
                let value = value(row);
                nulls.append(value.is_some());
                values.append(value.unwrap_or_default());
            }
        }
    }

    pub(crate) fn string<S: AsRef<str>>(&mut self, name: impl Into<String>, value: impl Fn(&'r R) -> S) {
        self.texts(name, false, |row| Some(value(row)));
    }

    pub(crate) fn optional_string<S: AsRef<str>>(
        &mut self,
        name: impl Into<String>,
        value: impl FnMut(&'r R) -> Option<S>,
    ) {
        self.texts(name, true, value);
    }

    fn texts<S: AsRef<str>>(
        &mut self,
        name: impl Into<String>,
        nullable: bool,
        value: impl FnMut(&'r R) -> Option<S>,
    ) {
        let rows = self.rows;
        if let Some(Values::Text(texts)) = self.column(name, nullable, || Values::Text(StringBuilder::new()))
        {
            rows.iter()
                .map(value)
                .for_each(|value| texts.append_option(value));
        }
    }

    /// A text of which a batch has few different ones: a dictionary, which is made and written once.
    pub(crate) fn name<S: AsRef<str>>(&mut self, name: impl Into<String>, value: impl Fn(&'r R) -> S) {
        self.dictionary(name, false, |dictionary, row| {
            dictionary.push_name(value(row).as_ref());
        });
    }

    /// An address as text: a dictionary too, since most batches have the same ones again and again.
    pub(crate) fn address(&mut self, name: impl Into<String>, value: impl Fn(&R) -> IpAddr) {
        self.dictionary(name, true, |dictionary, row| dictionary.push_address(value(row)));
    }

    fn dictionary(&mut self, name: impl Into<String>, nullable: bool, push: impl Fn(&mut Dictionary, &'r R)) {
        let rows = self.rows;
        let begin = || Values::Dictionary(Dictionary::default());
        if let Some(Values::Dictionary(dictionary)) = self.column(name, nullable, begin) {
            for row in rows {
                push(dictionary, row);
            }
        }
    }

    /// The next column, which the first rows begin.
    fn column(
        &mut self,
        name: impl Into<String>,
        nullable: bool,
        begin: impl FnOnce() -> Values,
    ) -> Option<&mut Values> {
        let columns = &mut self.filled.columns;
        if self.place == columns.len() {
            columns.push(Column {
                name: name.into(),
                nullable,
                values: begin(),
            });
        }
        self.place += 1;
        columns.get_mut(self.place - 1).map(|column| &mut column.values)
    }

    pub(crate) fn into_filled(self) -> Filled {
        Filled {
            rows: self.filled.rows + self.rows.len(),
            ..self.filled
        }
    }

    pub(crate) fn into_batch(self) -> Result<RecordBatch, Fault> {
        self.into_filled().into_batch()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(filled: Filled, rows: &[i64]) -> Filled {
        let mut columns = Columns::onto(filled, rows);
        columns.int64("required", |row| *row);
        columns.optional_int64("optional", |row| (*row % 2 == 0).then_some(*row));
        columns.optional_bool("bool", |row| (*row > 1).then_some(*row > 2));
        columns.optional_string("text", |row| (*row > 1).then(|| row.to_string()));
        columns.name("name", |row| if *row > 1 { "many" } else { "one" });
        columns.address("address", |row| [10, 0, 0, u8::from(*row % 2 != 0)].into());
        columns.into_filled()
    }

    #[test]
    fn rows_that_are_added_in_parts_are_those_that_are_added_at_once() {
        let at_once = columns(Filled::default(), &[1, 2, 3, 4]);
        let parts = columns(columns(columns(Filled::default(), &[]), &[1]), &[2, 3, 4]);
        assert_eq!((at_once.rows(), parts.rows()), (4, 4));
        let batch = parts.into_batch().unwrap();
        assert_eq!(at_once.into_batch().unwrap(), batch);
        let nulls: Vec<_> = batch
            .columns()
            .iter()
            .map(arrow_array::Array::null_count)
            .collect();
        assert_eq!(nulls, [0, 2, 1, 1, 0, 0]);
    }
}
