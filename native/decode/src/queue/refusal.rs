//! Why a line or record of a queue log is refused.

use crate::output::refusal::refusals;

refusals! {
    /// Why a line or record of a queue log is left out.
    pub(crate) enum QueueLogRefusal of "queue log" {
        MalformedLine = "malformed_line": "the line is not an event, a header or a loss report",
        TruncatedLine = "truncated_line": "the content ends inside the line",
        MalformedRecord = "malformed_record": "a field of the binary record has an invalid value",
        TruncatedRecord = "truncated_record": "the content ends inside the binary record",
        ImpossibleLength = "impossible_length": "the binary record's length contradicts its type; reading ends",
        UnknownType = "unknown_type": "the type of the binary record has no decoder",
        ProbeFailed = "probe_failed": "the probe reports that it failed; reading ends",
        NoRealQueue = "no_real_queue": "an event of a queue without a handle, which holds no packets",
        ImpossibleTime = "impossible_time": "the event's time is negative, too late, or too long after the previous one",
        TimeBackwards = "time_backwards": "the event is earlier than a preceding one by more than the sorting window",
        LateClockOffset = "late_clock_offset": "the clock offset comes after the first event, or is repeated",
        TooManyQueues = "too_many_queues": "an event of a new queue, after the log has reached the maximum number of queues",
        DropOfUnknownQueue = "drop_of_unknown_queue": "a drop at enqueue of which the log does not say by which of its queues",
        TooManySilentIntervals = "too_many_silent_intervals": "a silence whose intervals are left out: the log has too many for its events",
    }
}
