//! One cell before a family or a file format has decided how to write it.

use std::borrow::Cow;

use crate::stamp::Stamp;

/// A value of a tab.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Blank,
    /// Text.
    Text(Cow<'a, str>),
    /// Whole number.
    Int(i64),
    /// Fraction.
    Float(f64),
    /// `True` / `False`, which RVTools writes as text.
    Bool(bool),
    /// Date.
    Date(Stamp),
    /// An enumeration: text in 4.x, a number in 3.x.
    Enum(&'static str, i64),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        if text.is_empty() { Self::Blank } else { Self::Text(Cow::Borrowed(text)) }
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::Blank } else { Self::Text(Cow::Owned(text)) }
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Stamp> for Cell<'_> {
    fn from(value: Stamp) -> Self {
        Self::Date(value)
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<()> for Cell<'_> {
    fn from((): ()) -> Self {
        Self::Blank
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Blank, Into::into)
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => { $(
        impl From<$integer> for Cell<'_> {
            fn from(value: $integer) -> Self {
                Self::Int(value as i64)
            }
        }
    )* };
}
from_integers!(u8, u16, u32, u64, usize, i32, i64);
