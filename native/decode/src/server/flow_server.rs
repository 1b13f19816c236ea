//! What is known of a flow's server, and from where.

use std::sync::Arc;

use crate::output::decoded::decoded;
use crate::server::client_hello::ClientHello;
use crate::server::name::{ServerNames, Unkept};

decoded! {
    /// Where a name is from.
    pub(crate) enum NameSource of "server name" {
        Tls = "tls": "name, offered version and application protocols of a ClientHello that begins in the first 24 TCP segments with data, in any order \
                      and number of segments and records (RFC 8446, RFC 6066, RFC 7301); an encrypted one inside is reported (RFC 9849)",
        Quic = "quic": "the same for a ClientHello in Initial packets of QUIC 1, 2, drafts 23 to 34 and Facebook's mvfst, in any order (RFC 9001, RFC 9369)",
        Dns = "dns": "A and AAAA answers over UDP and TCP port 53, for flows that the client then begins to such an address (RFC 1035)",
    }
}

/// What became of a `ClientHello`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HelloOutcome {
    /// It has the name of a server.
    Named,
    /// It has the name of a server, and what follows the name is damaged.
    DamagedAfterName,
    /// It is whole and has no name.
    NoName,
    /// Its name is not kept.
    Unkept(Unkept),
    /// It ended before a name: packets are missing or were cut.
    Cut,
    /// Its packets are there, but their keys are those of an earlier packet that is not.
    NotDecrypted,
}

impl HelloOutcome {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::DamagedAfterName => "damaged_after_name",
            Self::NoName => "no_name",
            Self::Unkept(Unkept::Address) => "address",
            Self::Unkept(Unkept::Local) => "local_name",
            Self::Unkept(Unkept::Invalid) => "invalid_name",
            Self::Cut => "cut",
            Self::NotDecrypted => "not_decrypted",
        }
    }
}

/// What a flow's `ClientHello` and DNS say of its server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) source: Option<NameSource>,
    pub(crate) outcome: Option<HelloOutcome>,
    /// Whether the `ClientHello` has an encrypted one inside.
    pub(crate) encrypted_hello: Option<bool>,
    pub(crate) tls_version: Option<&'static str>,
    pub(crate) quic_version: Option<&'static str>,
    pub(crate) alpn: Option<Box<str>>,
}

impl Server {
    /// What a name asked for in DNS says.
    pub(crate) fn of_answer(name: Arc<str>) -> Self {
        Self {
            name: Some(name),
            source: Some(NameSource::Dns),
            ..Self::default()
        }
    }

    /// Take over what a `ClientHello` says; a name that DNS gave stays where there is none.
    pub(crate) fn tell(
        &mut self,
        hello: Option<&ClientHello<'_>>,
        names: ServerNames,
        source: NameSource,
        missing: HelloOutcome,
    ) {
        let Some(hello) = hello else {
            self.outcome = Some(missing);
            return;
        };
        self.encrypted_hello = hello.encrypted;
        self.tls_version = hello.version;
        self.alpn = hello.alpn();
        self.outcome = Some(match hello.name.map(|name| names.kept(name)) {
            Some(Ok(name)) => {
                if name.is_some() {
                    self.name = name;
                    self.source = Some(source);
                }
                if hello.damaged {
                    HelloOutcome::DamagedAfterName
                } else {
                    HelloOutcome::Named
                }
            }
            Some(Err(unkept)) => HelloOutcome::Unkept(unkept),
            None if hello.whole => HelloOutcome::NoName,
            None => HelloOutcome::Cut,
        });
    }
}
