//! Arrow batches out of rows: a column is named, typed and filled in one place.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_schema::{DataType, Field, Schema};

use crate::output::fault::{Fault, FaultKind};

/// Columns under construction over the same rows, in the order of the table.
pub(crate) struct Columns<'r, R> {
    rows: &'r [R],
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

macro_rules! primitive_columns {
    ($($required:ident, $optional:ident: $native:ty => $array:ident, $data_type:ident;)*) => {
        $(
            #[allow(dead_code, reason = "not every type has both kinds of column")]
            pub(crate) fn $required(&mut self, name: impl Into<String>, value: impl Fn(&R) -> $native) {
                let array = $array::from_iter_values(self.rows.iter().map(value));
                self.push(name.into(), DataType::$data_type, false, Arc::new(array));
            }

            #[allow(dead_code, reason = "not every type has both kinds of column")]
            pub(crate) fn $optional(&mut self, name: impl Into<String>, value: impl Fn(&R) -> Option<$native>) {
                let array: $array = self.rows.iter().map(value).collect();
                self.push(name.into(), DataType::$data_type, true, Arc::new(array));
            }
        )*
    };
}

impl<'r, R> Columns<'r, R> {
    pub(crate) fn over(rows: &'r [R]) -> Self {
        Self {
            rows,
            fields: Vec::new(),
            arrays: Vec::new(),
        }
    }

    primitive_columns! {
        int8, optional_int8: i8 => Int8Array, Int8;
        int16, optional_int16: i16 => Int16Array, Int16;
        int32, optional_int32: i32 => Int32Array, Int32;
        int64, optional_int64: i64 => Int64Array, Int64;
        float64, optional_float64: f64 => Float64Array, Float64;
    }

    pub(crate) fn bool(&mut self, name: impl Into<String>, value: impl Fn(&R) -> bool) {
        let array: BooleanArray = self.rows.iter().map(|row| Some(value(row))).collect();
        self.push(name.into(), DataType::Boolean, false, Arc::new(array));
    }

    pub(crate) fn optional_bool(&mut self, name: impl Into<String>, value: impl Fn(&R) -> Option<bool>) {
        let array: BooleanArray = self.rows.iter().map(value).collect();
        self.push(name.into(), DataType::Boolean, true, Arc::new(array));
    }

    pub(crate) fn string<S: AsRef<str>>(&mut self, name: impl Into<String>, value: impl Fn(&'r R) -> S) {
        let array = StringArray::from_iter_values(self.rows.iter().map(value));
        self.push(name.into(), DataType::Utf8, false, Arc::new(array));
    }

    /// A text of which a batch has few different ones: a dictionary, which is made and written once.
    pub(crate) fn name<S: AsRef<str>>(&mut self, name: impl Into<String>, value: impl Fn(&'r R) -> S) {
        let mut names: Vec<Box<str>> = Vec::new();
        let places = Int32Array::from_iter_values(self.rows.iter().map(|row| {
            let text = value(row);
            let known = names.iter().position(|name| **name == *text.as_ref());
            let place = known.unwrap_or_else(|| {
                names.push(text.as_ref().into());
                names.len() - 1
            });
            i32::try_from(place).unwrap_or(i32::MAX)
        }));
        let names = Arc::new(StringArray::from_iter_values(names));
        // Every place was given by the list of names.
        if let Ok(array) = DictionaryArray::<Int32Type>::try_new(places, names) {
            self.push(name.into(), array.data_type().clone(), false, Arc::new(array));
        }
    }

    pub(crate) fn optional_string<S: AsRef<str>>(
        &mut self,
        name: impl Into<String>,
        value: impl FnMut(&'r R) -> Option<S>,
    ) {
        let array: StringArray = self.rows.iter().map(value).collect();
        self.push(name.into(), DataType::Utf8, true, Arc::new(array));
    }

    fn push(&mut self, name: String, data_type: DataType, nullable: bool, array: ArrayRef) {
        self.fields.push(Field::new(name, data_type, nullable));
        self.arrays.push(array);
    }

    pub(crate) fn into_batch(self) -> Result<RecordBatch, Fault> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(self.fields)), self.arrays, &options)
            .map_err(|error| Fault::new(FaultKind::Batch, format!("arrow batch: {error}"), None))
    }
}
