//! Lines of a text, one at a time, in bounded memory.

use crate::input::source::PlainReader;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Terminated,
    /// Longer than any line may be; only its last piece is still available.
    Overlong,
    /// The content ended before the line did.
    EndOfContent,
}

/// The next line, still available in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// Bytes without the line end.
    pub(crate) content_bytes: usize,
    /// Bytes to move on by.
    pub(crate) consumed_bytes: usize,
    pub(crate) end: LineEnd,
}

/// Find the next line, `None` at the end of the content.
pub(crate) fn next_line(source: &mut PlainReader, longest_bytes: usize) -> Option<Line> {
    if source.fill(1) == 0 {
        return None;
    }
    let mut overlong = false;
    let mut searched = 0;
    let mut place = memchr::memchr(b'\n', source.available());
    while place.is_none() {
        searched = searched.max(source.available().len());
        if searched > longest_bytes {
            overlong = true;
            source.consume(source.available().len());
            searched = 0;
        }
        let kept = source.available().len();
        if source.fill(kept + 1) == kept {
            break;
        }
        let fresh = source.available().get(searched..).unwrap_or_default();
        place = memchr::memchr(b'\n', fresh).map(|place| place + searched);
    }
    let content_bytes = place.unwrap_or(source.available().len());
    Some(Line {
        content_bytes,
        consumed_bytes: place.map_or(content_bytes, |place| place + 1),
        end: match place {
            _ if overlong || content_bytes > longest_bytes => LineEnd::Overlong,
            Some(_) => LineEnd::Terminated,
            None => LineEnd::EndOfContent,
        },
    })
}
