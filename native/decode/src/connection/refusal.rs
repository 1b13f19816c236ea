//! Why a record of connections is refused.

use crate::output::refusal::refusals;

refusals! {
    /// Why a line of an M-Lab tcp-info file is left out.
    pub(crate) enum TcpInfoRefusal of "tcp-info" {
        MalformedLine = "malformed_line": "the line is not a socket or metadata record",
        TruncatedLine = "truncated_line": "the content ends inside the line",
        NoPeer = "no_peer": "the socket in the poll has no peer",
        NoTcpInfo = "no_tcp_info": "the poll has no TCP_INFO",
        NoTime = "no_time": "the recorder set no time",
    }
}

refusals! {
    /// Why a direction of an NDT result has no connection.
    pub(crate) enum NdtRefusal of "NDT" {
        NotMeasured = "no_measurement": "the direction of NDT7 has no poll with TCP_INFO",
        RttToServerUnknown = "no_rtt_c2s": "the direction to the server of NDT5 has no RTT",
        RttFromServerUnknown = "no_rtt_s2c": "the direction from the server of NDT5 has no RTT",
    }
}
