//! Why a line or record of a queue log is refused.

use crate::output::refusal::refusals;

refusals! {
    /// Why a line or record of a queue log is left out.
    pub(crate) enum QueueLogRefusal of "queue log" {
        MalformedLine = "malformed_line": "the line is not an event, a header or a loss report",
        TruncatedLine = "truncated_line": "the content ends inside the line",
        MalformedRecord = "malformed_record": "a field of the binary record is not of its kind",
        TruncatedRecord = "truncated_record": "the content ends inside the binary record",
        ImpossibleLength = "impossible_length": "the binary record's length contradicts its type; reading ends",
        UnknownType = "unknown_type": "the binary record is of a type that has no decoder",
        ProbeFailed = "probe_failed": "the probe says that it failed; reading ends",
        NoRealQueue = "no_real_queue": "an event of a queue without a handle, which holds no packets",
        ImpossibleTime = "impossible_time": "the event's time is negative, too late, or too long after the one before",
        TimeBackwards = "time_backwards": "the event lies further before an earlier one than events are sorted over",
        LateClockOffset = "late_clock_offset": "the clock offset comes after the first event, or a second time",
        TooManyQueues = "too_many_queues": "an event of yet another queue, after as many as a host may have",
    }
}
