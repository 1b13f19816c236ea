//! Captures: pcap and pcapng, recordings in several files, and their decoder.

pub(crate) mod archive;
pub(crate) mod decoder;
pub(crate) mod link_batch;
pub(crate) mod packet_batch;
pub(crate) mod pcap;
pub(crate) mod pcapng;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod recording;
