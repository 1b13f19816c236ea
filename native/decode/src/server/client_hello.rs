//! The `ClientHello` of TLS (RFC 8446, 4.1.2), whole or as far as it was captured.

use crate::server::reader::Fields;

/// Longer ones exist in the standard only: post-quantum keys take two kilobytes.
pub(crate) const HELLO_BYTES: usize = 1 << 14;

const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const APPLICATION_PROTOCOLS: u16 = 16;
const SUPPORTED_VERSIONS: u16 = 43;
/// Encrypted `ClientHello` (RFC 9849) and its last drafts, and encrypted server name, which was before it.
const ENCRYPTED: [u16; 7] = [0xfe0d, 0xfe0c, 0xfe0b, 0xfe0a, 0xfe09, 0xfe08, 0xffce];

/// What is read of a message that may not be there whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress<T> {
    /// It is another message.
    Never,
    /// What is there ends too early; what could be read of it.
    More(Option<T>),
    Found(T),
}

/// What is read of a `ClientHello`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientHello<'b> {
    pub(crate) name: Option<&'b [u8]>,
    /// The highest version that the client offers.
    pub(crate) version: Option<&'static str>,
    /// Whether it has an encrypted `ClientHello` inside; unknown where the end is missing.
    pub(crate) encrypted: Option<bool>,
    pub(crate) whole: bool,
    /// Whether a length behind its name leads beyond its end: nothing can follow that.
    pub(crate) damaged: bool,
    lists_versions: bool,
    protocols: Option<&'b [u8]>,
}

impl<'b> ClientHello<'b> {
    /// Read a handshake message from its type on.
    ///
    /// Of a whole message that is damaged behind its name, the name is given, and what else comes before the damage.
    pub(crate) fn read(message: &'b [u8]) -> Progress<Self> {
        let mut fields = Fields(message);
        match fields.u8() {
            None => return Progress::More(None),
            Some(CLIENT_HELLO) => {}
            Some(_) => return Progress::Never,
        }
        let Some(length) = fields.u24().map(|length| length as usize) else {
            return Progress::More(None);
        };
        if length > HELLO_BYTES - 4 {
            return Progress::Never;
        }
        let mut body = Fields(fields.0.get(..length).unwrap_or(fields.0));
        let whole = body.0.len() == length;
        let mut hello = Self::default();
        match hello.read_body(&mut body) {
            Some(true) if whole => {
                hello.whole = true;
                hello.encrypted.get_or_insert(false);
                Progress::Found(hello)
            }
            // A whole message in which a length leads beyond its end, or that says what none can.
            Some(false) => Progress::Never,
            None if whole && hello.name.is_some() => Progress::Found(hello.damaged()),
            None if whole => Progress::Never,
            _ => {
                let begun = hello.version.is_some();
                Progress::More(begun.then_some(hello.without_its_end()))
            }
        }
    }

    /// What is read of it, where what follows is damaged.
    pub(crate) fn damaged(self) -> Self {
        Self {
            damaged: true,
            whole: false,
            ..self.without_its_end()
        }
    }

    /// TLS 1.3 is offered in an extension, which may be behind the end of what is there.
    fn without_its_end(self) -> Self {
        Self {
            version: self.version.filter(|_| self.lists_versions),
            ..self
        }
    }

    /// Whether it is a `ClientHello`; `None` where it ends early.
    fn read_body(&mut self, body: &mut Fields<'b>) -> Option<bool> {
        let version = body.u16()?;
        if version >> 8 != 3 {
            return Some(false);
        }
        self.version = version_name(version);
        body.bytes(32)?;
        if body.after_u8()?.len() > 32 {
            return Some(false);
        }
        let ciphers = body.after_u16()?;
        if ciphers.is_empty() || ciphers.len() % 2 != 0 {
            return Some(false);
        }
        if body.after_u8()?.is_empty() {
            return Some(false);
        }
        if body.0.is_empty() {
            // A client of TLS 1.2 may have no extensions.
            return Some(true);
        }
        let count = usize::from(body.u16()?);
        let mut extensions = Fields(body.0.get(..count).unwrap_or(body.0));
        let cut = body.0.len() < count;
        while !extensions.0.is_empty() {
            let kind = extensions.u16()?;
            let data = extensions.after_u16()?;
            self.extension(kind, data);
        }
        (!cut).then_some(true)
    }

    fn extension(&mut self, kind: u16, data: &'b [u8]) {
        match kind {
            SERVER_NAME => {
                let mut list = Fields(Fields(data).after_u16().unwrap_or_default());
                if let (Some(0), Some(name)) = (list.u8(), list.after_u16()) {
                    self.name = self.name.or(Some(name));
                }
            }
            APPLICATION_PROTOCOLS => self.protocols = Fields(data).after_u16(),
            SUPPORTED_VERSIONS => {
                let versions = Fields(data).after_u8().unwrap_or_default();
                let highest = versions
                    .chunks_exact(2)
                    .filter_map(|version| Some(u16::from_be_bytes(version.try_into().ok()?)))
                    .filter(|version| *version > 0x0300)
                    .filter_map(version_name)
                    .max();
                self.version = highest.or(self.version);
                self.lists_versions = true;
            }
            kind if ENCRYPTED.contains(&kind) => self.encrypted = Some(true),
            _ => {}
        }
    }

    /// The application protocols that the client offers, in its order, with commas between them; those that are
    /// no printable text, such as the ones that stand for nothing (RFC 8701), are left out.
    pub(crate) fn alpn(&self) -> Option<Box<str>> {
        let mut list = Fields(self.protocols?);
        let mut names: Vec<&str> = Vec::new();
        while let Some(name) = list.after_u8() {
            let printable = name.iter().all(|byte| byte.is_ascii_graphic() && *byte != b',');
            if !name.is_empty() && name.len() <= 32 && printable && names.len() < 16 {
                names.extend(std::str::from_utf8(name));
            }
        }
        (!names.is_empty()).then(|| names.join(",").into())
    }
}

/// Those from TLS 1.0 on have the order of their names.
fn version_name(version: u16) -> Option<&'static str> {
    match version {
        0x0300 => Some("ssl-3.0"),
        0x0301 => Some("1.0"),
        0x0302 => Some("1.1"),
        0x0303 => Some("1.2"),
        // The drafts of TLS 1.3 have numbers of their own, and those of Facebook others.
        0x0304 | 0x7f00..=0x7fff | 0xfb00..=0xfbff => Some("1.3"),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn sized(size: usize, content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u32).to_be_bytes();
        [&length[4 - size..], content].concat()
    }

    fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
        [&kind.to_be_bytes()[..], &sized(2, data)].concat()
    }

    pub(crate) fn server_name(name: &[u8]) -> Vec<u8> {
        extension(SERVER_NAME, &sized(2, &[&[0][..], &sized(2, name)].concat()))
    }

    /// A `ClientHello` with extensions, from its type on.
    pub(crate) fn hello_with(extensions: &[Vec<u8>]) -> Vec<u8> {
        let body = [
            &[3, 3][..],
            &[7; 32],
            &sized(1, &[9; 32]),
            &sized(2, &[0x13, 0x01, 0x13, 0x02]),
            &[1, 0],
            &sized(2, &extensions.concat()),
        ]
        .concat();
        [&[CLIENT_HELLO][..], &sized(3, &body)].concat()
    }

    /// A `ClientHello` for a name, with `padding` bytes before the name.
    pub(crate) fn hello(name: &str, padding: usize) -> Vec<u8> {
        hello_with(&[
            extension(21, &vec![0; padding]),
            server_name(name.as_bytes()),
            extension(
                APPLICATION_PROTOCOLS,
                &sized(2, &[sized(1, b"h2"), sized(1, b"http/1.1")].concat()),
            ),
            extension(SUPPORTED_VERSIONS, &[6, 0x3a, 0x3a, 3, 4, 3, 3]),
        ])
    }

    #[test]
    fn name_protocols_and_version_are_read() {
        let message = hello("www.example.com", 5);
        let Progress::Found(read) = ClientHello::read(&message) else {
            panic!("not found");
        };
        assert_eq!(read.name, Some(&b"www.example.com"[..]));
        assert_eq!(read.alpn().as_deref(), Some("h2,http/1.1"));
        assert_eq!((read.version, read.encrypted), (Some("1.3"), Some(false)));
    }

    #[test]
    fn a_hello_cut_anywhere_gives_the_name_once_it_is_there_and_never_another() {
        let message = hello("www.example.com", 100);
        let end_of_name = message
            .windows(15)
            .position(|it| it == b"www.example.com")
            .unwrap()
            + 15;
        for length in 0..message.len() {
            let Progress::More(read) = ClientHello::read(&message[..length]) else {
                panic!("{length} of {}", message.len());
            };
            let name = read.and_then(|read| read.name);
            assert_eq!(name.is_some(), length >= end_of_name, "{length}");
            assert!(!read.is_some_and(|read| read.whole || read.encrypted.is_some()));
        }
    }

    #[test]
    fn an_encrypted_hello_inside_is_told() {
        for kind in ENCRYPTED {
            let message = hello_with(&[server_name(b"public.example.com"), extension(kind, &[0; 40])]);
            let Progress::Found(read) = ClientHello::read(&message) else {
                panic!("not found");
            };
            assert_eq!(
                (read.name, read.encrypted),
                (Some(&b"public.example.com"[..]), Some(true))
            );
        }
    }

    #[test]
    fn the_version_of_a_message_that_is_cut_is_told_only_if_its_list_is_there() {
        let list = extension(SUPPORTED_VERSIONS, &sized(1, &[3, 4, 3, 3]));
        for (extensions, version) in [
            ([list.clone(), server_name(b"www.example.com")], Some("1.3")),
            ([server_name(b"www.example.com"), list], None),
        ] {
            let message = hello_with(&extensions);
            let Progress::More(Some(read)) = ClientHello::read(&message[..message.len() - 1]) else {
                panic!("not begun");
            };
            assert_eq!(read.version, version);
            let Progress::Found(read) = ClientHello::read(&message) else {
                panic!("not found");
            };
            assert_eq!(read.version, Some("1.3"));
        }
    }

    #[test]
    fn a_name_is_kept_if_an_extension_behind_it_is_damaged_and_none_is_made_up_before_it() {
        let name = server_name(b"www.example.com");
        let list = extension(SUPPORTED_VERSIONS, &[2, 3, 4]);
        // A length beyond the end, too few bytes for a header, and a section longer than the message.
        let mut beyond = extension(10, &[0; 6]);
        beyond[2..4].copy_from_slice(&0xffff_u16.to_be_bytes());
        let header_cut = vec![0, 10, 0];
        for damaged in [beyond, header_cut] {
            for (extensions, version) in [
                (vec![name.clone(), damaged.clone(), list.clone()], None),
                (vec![list.clone(), name.clone(), damaged.clone()], Some("1.3")),
                (
                    vec![extension(5, &[1, 0, 0]), name.clone(), damaged.clone()],
                    None,
                ),
            ] {
                let message = hello_with(&extensions);
                let Progress::Found(read) = ClientHello::read(&message) else {
                    panic!("not found");
                };
                assert_eq!(read.name, Some(&b"www.example.com"[..]));
                assert_eq!((read.damaged, read.whole, read.encrypted), (true, false, None));
                assert_eq!(read.version, version);
            }
            let before = hello_with(&[damaged, name.clone()]);
            assert_eq!(ClientHello::read(&before), Progress::Never);
        }
        let mut longer = hello_with(&[name.clone(), list]);
        let section = 4 + 2 + 32 + 33 + 6 + 2;
        let length = u16::from_be_bytes([longer[section], longer[section + 1]]) + 9;
        longer[section..section + 2].copy_from_slice(&length.to_be_bytes());
        let Progress::Found(read) = ClientHello::read(&longer) else {
            panic!("not found");
        };
        assert_eq!((read.name, read.damaged), (Some(&b"www.example.com"[..]), true));
        let sound = hello_with(&[name]);
        let Progress::Found(sound) = ClientHello::read(&sound) else {
            panic!("not found");
        };
        assert!(!sound.damaged);
    }

    #[test]
    fn other_messages_and_wrong_lengths_are_no_hello() {
        let message = hello("www.example.com", 0);
        for (place, value) in [(0, 2), (1, 1), (4, 9), (38, 33), (72, 0), (72, 1)] {
            let mut other = message.clone();
            other[place] = value;
            assert!(
                !matches!(ClientHello::read(&other), Progress::Found(_)),
                "byte {place}"
            );
        }
        let plain = [&[3, 1][..], &[7; 32], &[0, 0, 2, 0, 5, 1, 0]].concat();
        let message = [&[CLIENT_HELLO][..], &sized(3, &plain)].concat();
        let Progress::Found(read) = ClientHello::read(&message) else {
            panic!("not found");
        };
        assert_eq!((read.name, read.version, read.whole), (None, Some("1.0"), true));
    }

    #[test]
    fn protocols_that_are_no_text_are_left_out() {
        let list = [
            sized(1, b"\x0a\x0a"),
            sized(1, b"h3"),
            sized(1, b"a,b"),
            sized(1, b""),
        ]
        .concat();
        let message = hello_with(&[extension(APPLICATION_PROTOCOLS, &sized(2, &list))]);
        let Progress::Found(read) = ClientHello::read(&message) else {
            panic!("not found");
        };
        assert_eq!(read.alpn().as_deref(), Some("h3"));
    }
}
