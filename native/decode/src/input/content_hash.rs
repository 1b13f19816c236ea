//! The hash of a content, computed beside its reader: in a thread of its own where the machine has another core.

use std::fmt::Write;
use std::ops::Range;
use std::panic;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha256};

/// Full buffers that wait for the thread; then the reader waits, so that memory is bounded.
const WAITING_BUFFERS: usize = 2;

/// SHA-256 of a content that is handed over buffer by buffer.
pub(crate) struct ContentHash {
    worker: Worker,
    /// Whether to begin a thread with the first full buffer: small contents have none.
    in_thread: bool,
}

enum Worker {
    Here(Sha256),
    Thread(HashThread),
}

struct HashThread {
    full: SyncSender<(Vec<u8>, Range<usize>)>,
    spare: Receiver<Vec<u8>>,
    handle: JoinHandle<Sha256>,
}

impl ContentHash {
    pub(crate) fn new() -> Self {
        Self::with_thread(thread::available_parallelism().is_ok_and(|cores| cores.get() > 1))
    }

    fn with_thread(in_thread: bool) -> Self {
        Self {
            worker: Worker::Here(Sha256::new()),
            in_thread,
        }
    }

    /// Hash the part `new` of a full buffer, and move its part `kept` to the start of `buffer`, of the same length.
    pub(crate) fn take(&mut self, buffer: &mut Vec<u8>, new: Range<usize>, kept: Range<usize>) {
        if self.in_thread {
            self.in_thread = false;
            if let Worker::Here(hash) = &self.worker {
                // Without a thread, for want of memory or of process numbers, it is hashed here.
                if let Ok(thread) = HashThread::begin(hash.clone()) {
                    self.worker = Worker::Thread(thread);
                }
            }
        }
        match &mut self.worker {
            Worker::Here(hash) => {
                hash.update(buffer.get(new).unwrap_or_default());
                buffer.copy_within(kept, 0);
            }
            Worker::Thread(thread) => {
                let mut next = thread.spare.try_recv().unwrap_or_default();
                next.resize(buffer.len(), 0);
                let kept = buffer.get(kept).unwrap_or_default();
                if let Some(start) = next.get_mut(..kept.len()) {
                    start.copy_from_slice(kept);
                }
                // A thread that has ended has panicked, which the end of the content raises.
                let _ = thread.full.send((std::mem::replace(buffer, next), new));
            }
        }
    }

    /// Hash what is left, and return the hash in lower-case hexadecimal.
    pub(crate) fn finish(self, rest: &[u8]) -> String {
        let mut hash = match self.worker {
            Worker::Here(hash) => hash,
            Worker::Thread(HashThread { full, handle, .. }) => {
                drop(full);
                handle
                    .join()
                    .unwrap_or_else(|panicked| panic::resume_unwind(panicked))
            }
        };
        hash.update(rest);
        let mut text = String::with_capacity(64);
        for byte in hash.finalize() {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

impl HashThread {
    fn begin(mut hash: Sha256) -> std::io::Result<Self> {
        let (full, to_hash) = mpsc::sync_channel::<(Vec<u8>, Range<usize>)>(WAITING_BUFFERS);
        let (hashed, spare) = mpsc::channel();
        let handle = thread::Builder::new()
            .name("content-hash".to_owned())
            .spawn(move || {
                for (buffer, new) in to_hash {
                    hash.update(buffer.get(new).unwrap_or_default());
                    // The reader may have ended meanwhile.
                    let _ = hashed.send(buffer);
                }
                hash
            })?;
        Ok(Self { full, spare, handle })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_whole_content_here_and_in_a_thread() {
        let content: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        let expected = ContentHash::with_thread(false).finish(&content);
        // As `sha256sum` gives it.
        assert!(ContentHash::new().finish(b"abc").starts_with("ba7816bf8f01cfea"));
        for in_thread in [false, true] {
            let mut hash = ContentHash::with_thread(in_thread);
            // Of each buffer of 1,000 bytes the last 10 are kept, and followed by 990 others.
            let mut buffer = content[..1000].to_vec();
            let (mut read, mut hashed) = (1000, 0);
            while read < content.len() {
                hash.take(&mut buffer, hashed..1000, 990..1000);
                assert_eq!(buffer.len(), 1000);
                assert_eq!(buffer[..10], content[read - 10..read]);
                hashed = 10;
                let next = content.len().min(read + 990);
                buffer.truncate(10);
                buffer.extend_from_slice(&content[read..next]);
                read = next;
                if read == content.len() {
                    break;
                }
            }
            assert_eq!(matches!(hash.worker, Worker::Thread(_)), in_thread);
            assert_eq!(hash.finish(&buffer[hashed..]), expected);
        }
    }
}
