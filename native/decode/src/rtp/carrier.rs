//! What carries RTP, and what that says of it.

use crate::output::decoded::decoded;

decoded! {
    /// What carried RTP, where it was not UDP itself.
    pub(crate) enum Encapsulation of "media encapsulation" {
        TurnChannel = "turn-channel": "ChannelData of TURN over UDP and TCP (RFC 8656, section 12)",
        TurnIndication = "turn-indication": "Send and Data indications of TURN over UDP and TCP (RFC 8656, section 11)",
        ZoomServer = "zoom-server": "Zoom's encapsulation between a client and its server (Michel et al. 2022, section 4)",
        ZoomPeer = "zoom-peer": "Zoom's encapsulation between two clients (Michel et al. 2022, section 4)",
    }
}

decoded! {
    /// What a stream shows, where its encapsulation says so.
    pub(crate) enum Media of "media type" {
        Audio = "audio": "Zoom's media type 15",
        Video = "video": "Zoom's media type 16",
        ScreenShare = "screen-share": "Zoom's media type 30, alone or inside type 13",
    }
}

/// What carried a packet, and what it shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Carrier {
    pub(crate) encapsulation: Option<Encapsulation>,
    pub(crate) media: Option<Media>,
}
