//! What is decoded, declared where it is decoded.

/// One format, protocol or compression that is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// What kind of thing it is: capture format, compression, link encapsulation, network, transport, tunnel, media, or server name.
    pub kind: &'static str,
    /// Its name; of tunnels and compressions the one that is in the tables.
    pub name: &'static str,
    /// What of it is decoded, in one line, with the standard.
    pub meaning: &'static str,
}

/// Declare an enum whose variants are decoded, each with its name and what it is; none can be left out of `DECODED`.
macro_rules! decoded {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $things:ident of $kind:literal {
            $($variant:ident = $name:literal: $meaning:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $things {
            $($variant,)+
        }

        impl $things {
            /// All of them.
            pub(crate) const DECODED: &'static [$crate::output::decoded::Decoded] = &[
                $($crate::output::decoded::Decoded { kind: $kind, name: $name, meaning: $meaning },)+
            ];

            /// The name, as the tables spell it.
            $vis fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

pub(crate) use decoded;
