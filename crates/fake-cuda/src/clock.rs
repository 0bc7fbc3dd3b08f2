//! The order of operations: for each stream, up to which of its operations all is before.

use std::collections::BTreeMap;

/// The operations that have ended before something begins: of each stream those up to a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorClock(BTreeMap<u64, u64>);

impl VectorClock {
    /// Whether that operation of the stream is among them.
    pub(crate) fn knows(&self, stream: u64, number: u64) -> bool {
        self.0.get(&stream).is_some_and(|known| *known >= number)
    }

    pub(crate) fn see(&mut self, stream: u64, number: u64) {
        let known = self.0.entry(stream).or_default();
        *known = number.max(*known);
    }

    pub(crate) fn join(&mut self, other: &VectorClock) {
        for (stream, number) in &other.0 {
            self.see(*stream, *number);
        }
    }
}
