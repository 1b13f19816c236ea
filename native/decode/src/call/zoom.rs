//! Zoom's encapsulation of RTP and RTCP, as Michel et al. found it (*Enabling Passive Measurement of Zoom Performance in
//! Production Networks*, IMC 2022, section 4).
//!
//! Between a client and a server, eight bytes come first: type 5, a number, and the direction. Between two clients
//! they are left out. Then comes Zoom's media header, whose length depends on its type, and RTP or RTCP behind it.

use crate::call::carried::Carried;
use crate::rtp::carrier::{Carrier, Encapsulation, Media};

const SERVER_HEADER_BYTES: usize = 8;
pub(crate) const SERVER_MEDIA: u8 = 5;
const SHARE_BY_SERVER: u8 = 13;
const AUDIO: u8 = 15;
const VIDEO: u8 = 16;
const SHARE: u8 = 30;
const RTCP_FIRST: u8 = 33;
const RTCP_LAST: u8 = 35;
/// Of a video header, the place that tells the long form.
const VIDEO_FORM: usize = 20;
const VIDEO_LONG: u8 = 2;
/// Repairs of a video, under the video's source but with sequence numbers of their own.
const PAYLOAD_TYPE_REPAIR: u8 = 110;

/// What is behind Zoom's headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZoomMedia<'p> {
    Rtp(Carried<'p>),
    /// RTP of forward error correction.
    Repair(Carried<'p>),
    Rtcp(Carried<'p>),
}

/// The media in a UDP payload of either form.
pub(crate) fn datagram(captured: &[u8], payload_bytes: u32) -> Option<ZoomMedia<'_>> {
    if *captured.first()? == SERVER_MEDIA {
        media(
            captured,
            payload_bytes,
            SERVER_HEADER_BYTES,
            Encapsulation::ZoomServer,
        )
    } else {
        media(captured, payload_bytes, 0, Encapsulation::ZoomPeer)
    }
}

fn media(captured: &[u8], payload_bytes: u32, start: usize, form: Encapsulation) -> Option<ZoomMedia<'_>> {
    let inner = captured.get(start..)?;
    let (length, media) = match *inner.first()? {
        AUDIO => (19, Some(Media::Audio)),
        VIDEO if *inner.get(VIDEO_FORM)? == VIDEO_LONG => (24, Some(Media::Video)),
        VIDEO => (20, Some(Media::Video)),
        SHARE => (20, Some(Media::ScreenShare)),
        // The share's own header is behind seven bytes of this one.
        SHARE_BY_SERVER if *inner.get(7)? == SHARE => (27, Some(Media::ScreenShare)),
        RTCP_FIRST..=RTCP_LAST => (16, None),
        _ => return None,
    };
    let carrier = Carrier {
        encapsulation: Some(form),
        media,
    };
    let carried = Carried::behind(captured, payload_bytes, start + length, carrier);
    let [first, second, ..] = carried.bytes else {
        return None;
    };
    if first >> 6 != 2 {
        return None;
    }
    let is_rtcp = (200..=207).contains(second);
    match media {
        None => is_rtcp.then_some(ZoomMedia::Rtcp(carried)),
        Some(_) if is_rtcp => None,
        Some(_) if second & 0x7f == PAYLOAD_TYPE_REPAIR => Some(ZoomMedia::Repair(carried)),
        Some(_) => Some(ZoomMedia::Rtp(carried)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(server: bool, header: &[u8], header_bytes: usize, rtp: [u8; 2]) -> Vec<u8> {
        let mut bytes = if server {
            vec![SERVER_MEDIA, 0, 1, 0, 0, 0, 0, 4]
        } else {
            vec![]
        };
        let start = bytes.len();
        bytes.extend(header);
        bytes.resize(start + header_bytes, 0);
        bytes.extend(rtp);
        bytes.extend([0; 30]);
        bytes
    }

    fn layout(bytes: &[u8]) -> Option<(&'static str, Option<Media>, Encapsulation, usize)> {
        let (kind, carried) = match datagram(bytes, bytes.len() as u32)? {
            ZoomMedia::Rtp(carried) => ("rtp", carried),
            ZoomMedia::Repair(carried) => ("repair", carried),
            ZoomMedia::Rtcp(carried) => ("rtcp", carried),
        };
        assert_eq!(carried.bytes.len(), carried.payload_bytes as usize);
        let offset = bytes.len() - carried.bytes.len();
        Some((
            kind,
            carried.carrier.media,
            carried.carrier.encapsulation.unwrap(),
            offset,
        ))
    }

    #[test]
    fn each_type_has_its_place_of_rtp() {
        let mut video = [0; 21];
        (video[0], video[20]) = (VIDEO, VIDEO_LONG);
        let share = [SHARE_BY_SERVER, 0, 0, 0, 0, 0, 0, SHARE];
        for (server, form, start) in [
            (true, Encapsulation::ZoomServer, 8),
            (false, Encapsulation::ZoomPeer, 0),
        ] {
            for (header, length, rtp, kind, media) in [
                (&[AUDIO][..], 19, [0x90, 99], "rtp", Some(Media::Audio)),
                (&video, 24, [0x90, 98], "rtp", Some(Media::Video)),
                (&video, 24, [0x90, 110], "repair", Some(Media::Video)),
                (&[VIDEO], 20, [0x90, 98], "rtp", Some(Media::Video)),
                (&[SHARE], 20, [0x90, 99], "rtp", Some(Media::ScreenShare)),
                (&share, 27, [0x90, 99], "rtp", Some(Media::ScreenShare)),
                (&[34], 16, [0x80, 200], "rtcp", None),
            ] {
                let bytes = payload(server, header, length, rtp);
                assert_eq!(
                    layout(&bytes),
                    Some((kind, media, form, start + length)),
                    "{kind} {media:?}"
                );
                for cut in 0..start + length + 2 {
                    assert_eq!(datagram(&bytes[..cut], bytes.len() as u32), None);
                }
            }
        }
    }

    #[test]
    fn what_is_not_rtp_behind_the_headers_is_not_zoom() {
        assert_eq!(layout(&payload(true, &[AUDIO], 19, [0x10, 99])), None);
        assert_eq!(layout(&payload(true, &[34], 16, [0x80, 99])), None);
        assert_eq!(layout(&payload(false, &[21], 19, [0x90, 99])), None);
    }
}
