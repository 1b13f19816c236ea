//! Captures in an archive (tar or zip), one file after the other, as they stand in it.

mod layout;
mod tar;
mod zip;

use std::collections::HashSet;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use crate::capture::archive::layout::{repeated, skip_bytes};
use crate::capture::archive::zip::Zipped;
use crate::capture::reader::CaptureReader;
use crate::input::source::PlainReader;
use crate::input::watched::{ExpandsTooFar, most_plain_bytes};
use crate::output::fault::{Fault, FaultKind};
use crate::packet::refusal::PacketRefusal;

/// How an archive is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Tar,
    Zip,
}

/// What is left of the file of an archive that is being read.
enum Left {
    /// Bytes as they are, and then zeros up to the next block.
    Plain {
        member_bytes: u64,
        padding_bytes: u64,
    },
    Zipped(Box<Zipped>),
}

/// The content of an archive, and how much of it belongs to the current file.
struct Content {
    source: PlainReader,
    left: Left,
    /// Where the current file begins in the archive.
    member_start: u64,
    /// Plain content of the current file so far, and of all files, without any compression of their own.
    member_plain_bytes: u64,
    plain_bytes: u64,
    /// Why the current file ended before its end, or differs from what was packed.
    damage: Option<Fault>,
}

impl Content {
    /// Take note of plain content, unless it is more than is read of what is stored so far.
    fn watch(&mut self, count: usize) -> Result<(), ExpandsTooFar> {
        self.member_plain_bytes += count as u64;
        self.plain_bytes += count as u64;
        let read_bytes = self.source.offset();
        // What the archive is compressed with multiplies with what its files are compressed with.
        let stored_bytes = read_bytes.min(self.source.file_bytes().unwrap_or(read_bytes));
        for (plain_bytes, stored_bytes) in [
            (self.member_plain_bytes, read_bytes - self.member_start),
            (self.plain_bytes, stored_bytes),
        ] {
            let most = most_plain_bytes(stored_bytes);
            if plain_bytes > most {
                return Err(ExpandsTooFar(format!(
                    "{stored_bytes} stored bytes stand for more than {most}; unpack the archive and give its folder if they are genuine"
                )));
            }
        }
        Ok(())
    }

    /// Read of the current file; 0 at its end, and where it is damaged.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        match &mut self.left {
            Left::Plain { member_bytes, .. } => {
                self.source.fill(1);
                let most = usize::try_from(*member_bytes).unwrap_or(usize::MAX);
                let available = self.source.available();
                let count = available.len().min(buffer.len()).min(most);
                if let (Some(there), Some(place)) = (available.get(..count), buffer.get_mut(..count)) {
                    place.copy_from_slice(there);
                }
                self.source.consume(count);
                *member_bytes -= count as u64;
                count
            }
            Left::Zipped(_) if self.damage.is_some() => 0,
            Left::Zipped(zipped) => zipped.read(&mut self.source, buffer).unwrap_or_else(|fault| {
                self.damage = Some(fault);
                0
            }),
        }
    }

    /// Leave out the rest of the current file.
    fn skip(&mut self) {
        match &mut self.left {
            Left::Plain {
                member_bytes,
                padding_bytes,
            } => {
                skip_bytes(&mut self.source, *member_bytes + *padding_bytes);
            }
            Left::Zipped(zipped) => {
                let fault = zipped.skip(&mut self.source).err();
                self.damage = self.damage.take().or(fault);
            }
        }
        self.left = Left::Plain {
            member_bytes: 0,
            padding_bytes: 0,
        };
    }
}

/// The rest of the current file; it ends early where the archive does.
struct Member(Arc<Mutex<Content>>);

impl Read for Member {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(content.read(buffer))
    }
}

/// An archive, as far as it was read.
pub(crate) struct Archive {
    content: Arc<Mutex<Content>>,
    form: Form,
    /// Files of the archive that were begun.
    members: u64,
    /// What stands for their names.
    names: HashSet<u64>,
    /// Files of the archive that are no captures, by what they are.
    pub(crate) refused: Vec<(PacketRefusal, u64)>,
    /// The first fault of the archive, or of a member that could not be begun.
    pub(crate) fault: Option<Fault>,
}

impl Archive {
    /// How a content is laid out; `None` if it is no archive.
    pub(crate) fn form_of(source: &mut PlainReader) -> Option<Form> {
        if tar::begins(source) {
            Some(Form::Tar)
        } else if zip::begins(source) {
            Some(Form::Zip)
        } else {
            None
        }
    }

    pub(crate) fn new(source: PlainReader, form: Form) -> Self {
        let left = Left::Plain {
            member_bytes: 0,
            padding_bytes: 0,
        };
        Self {
            content: Arc::new(Mutex::new(Content {
                source,
                left,
                member_start: 0,
                member_plain_bytes: 0,
                plain_bytes: 0,
                damage: None,
            })),
            form,
            members: 0,
            names: HashSet::new(),
            refused: Vec::new(),
            fault: None,
        }
    }

    /// The next member that is a capture, compressed or not.
    pub(crate) fn next_capture(&mut self) -> Option<CaptureReader> {
        while let Some(file) = self.next_file() {
            self.members += 1;
            if let Err(reason) = file {
                self.refuse(reason);
                continue;
            }
            let content = Arc::clone(&self.content);
            let watch = move |count| {
                content
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .watch(count)
            };
            let member = Box::new(Member(Arc::clone(&self.content)));
            let opened = PlainReader::watched(member, Box::new(watch)).and_then(|mut plain| {
                if CaptureReader::begins(&mut plain) {
                    return CaptureReader::new(plain).map(Ok);
                }
                if let Some(fault) = plain
                    .fault()
                    .filter(|fault| fault.kind == FaultKind::ExpandsTooFar)
                {
                    return Err(fault.clone());
                }
                Ok(Err(match Self::form_of(&mut plain) {
                    Some(_) => PacketRefusal::ArchiveInArchive,
                    None => PacketRefusal::MemberWithoutCapture,
                }))
            });
            match opened {
                Ok(Ok(reader)) => return Some(reader),
                Ok(Err(reason)) => self.refuse(reason),
                Err(fault) => {
                    let fault = self.of_member(&fault);
                    self.fault.get_or_insert(fault);
                }
            }
        }
        None
    }

    /// The fault of the current member, with its number: its name may say whose it is.
    pub(crate) fn of_member(&self, fault: &Fault) -> Fault {
        // What ended the archive ended its member.
        let content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        match content.source.fault() {
            Some(fault) => fault.clone(),
            None => of_member(self.members, content.damage.as_ref().unwrap_or(fault)),
        }
    }

    /// Why an archive without a capture has none.
    pub(crate) fn without_capture(self) -> Fault {
        let counts: Vec<_> = self
            .refused
            .iter()
            .map(|(reason, count)| match reason {
                PacketRefusal::ArchiveInArchive => format!("{count} are archives"),
                PacketRefusal::MemberEncrypted => format!("{count} are encrypted"),
                PacketRefusal::MemberNotUnpacked => {
                    format!("{count} are stored in a way that is not read")
                }
                PacketRefusal::MemberSparse => format!("{count} are sparse files"),
                PacketRefusal::MemberRepeated => format!("{count} have the name of an earlier one"),
                _ => format!("{count} are other files"),
            })
            .collect();
        self.fault.unwrap_or_else(|| {
            Fault::new(
                FaultKind::UnrecognisedFormat,
                format!(
                    "archive: none of its {} files is a pcap or pcapng ({}); unpack it and give its folder",
                    self.members,
                    counts.join(", ")
                ),
                Some(0),
            )
        })
    }

    fn refuse(&mut self, reason: PacketRefusal) {
        match self.refused.iter_mut().find(|(refusal, _)| *refusal == reason) {
            Some((_, count)) => *count += 1,
            None => self.refused.push((reason, 1)),
        }
    }

    /// Go to the next file of the archive; an error says why it cannot be looked into, `None` behind the last, and where the
    /// archive is damaged.
    fn next_file(&mut self) -> Option<Result<(), PacketRefusal>> {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        content.skip();
        if let Some(damage) = content.damage.take() {
            self.fault.get_or_insert(of_member(self.members, &damage));
        }
        let next = match self.form {
            Form::Tar => tar::next(&mut content.source, self.members).map(|file| {
                file.map(|file| {
                    let left = Left::Plain {
                        member_bytes: file.bytes,
                        padding_bytes: file.padding_bytes,
                    };
                    (file.name, file.refusal, left)
                })
            }),
            Form::Zip => zip::next(&mut content.source, self.members)
                .map(|file| file.map(|file| (file.name, file.refusal, Left::Zipped(Box::new(file.zipped))))),
        };
        match next {
            Ok(file) => file.map(|(name, refusal, left)| {
                content.left = left;
                content.member_start = content.source.offset();
                content.member_plain_bytes = 0;
                if !self.names.insert(name) {
                    self.fault
                        .get_or_insert_with(|| repeated(content.member_start, self.members + 1));
                    return Err(PacketRefusal::MemberRepeated);
                }
                refusal.map_or(Ok(()), Err)
            }),
            Err(fault) => {
                self.fault.get_or_insert(fault);
                None
            }
        }
    }
}

fn of_member(number: u64, fault: &Fault) -> Fault {
    // Damage of a compression, as a kind, is that of the whole archive.
    let kind = match fault.kind {
        FaultKind::Compression | FaultKind::Checksum => FaultKind::CorruptRecord,
        kind => kind,
    };
    Fault {
        kind,
        message: format!("member {number} of the archive: {}", fault.message),
        offset: None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
