//! Reasons why a record is refused: enums, each declared with its stable names and what they mean.

use std::borrow::Cow;

/// One reason why a record is counted as refused and gives no fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalReason {
    /// What is read: one of the decoders' subjects.
    pub subject: &'static str,
    /// The stable name, which keys the counts of a [`Summary`](super::summary::Summary). `{number}` in it stands for
    /// the number that the record holds.
    pub name: &'static str,
    /// What it means, in one line.
    pub meaning: &'static str,
}

/// A reason of one subject.
pub(crate) trait Refusal {
    /// All reasons of the subject.
    const REASONS: &'static [RefusalReason];

    /// The name under which it is counted.
    fn name(self) -> Cow<'static, str>;
}

/// Declare the reasons of one subject: an enum whose names and meanings cannot be left out of [`Refusal::REASONS`].
macro_rules! refusals {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $reasons:ident of $subject:literal {
            $($variant:ident = $name:literal: $meaning:literal,)+
        }
        $(with a number {
            $($numbered:ident($number:ty) = $pattern:literal: $of:literal,)+
        })?
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $reasons {
            $($variant,)+
            $($($numbered($number),)+)?
        }

        impl $crate::output::refusal::Refusal for $reasons {
            const REASONS: &'static [$crate::output::refusal::RefusalReason] = &[
                $($crate::output::refusal::RefusalReason { subject: $subject, name: $name, meaning: $meaning },)+
                $($($crate::output::refusal::RefusalReason { subject: $subject, name: $pattern, meaning: $of },)+)?
            ];

            fn name(self) -> std::borrow::Cow<'static, str> {
                match self {
                    $(Self::$variant => $name.into(),)+
                    $($(Self::$numbered(number) => format!($pattern, number = number).into(),)+)?
                }
            }
        }
    };
}

pub(crate) use refusals;
