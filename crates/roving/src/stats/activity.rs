//! The activities among which a worker divides its time.

/// A worker's activity; see [`WorkerProfile`](super::WorkerProfile).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Busy,
    Steal,
    Idle,
    /// Parked like [`Activity::Idle`], but in the middle of a task.
    Wait,
    Switch,
    Frame,
}

impl Activity {
    /// Returns its name in traces.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Activity::Busy => "busy",
            Activity::Steal => "steal",
            Activity::Idle => "idle",
            Activity::Wait => "wait",
            Activity::Switch => "switch",
            Activity::Frame => "frame",
        }
    }
}
