//! Programs behind a trait, in a catalogue: networks, and tasks with two sides.

use super::workload::WorkloadKind;
use crate::io::input::BadInput;

/// A kind of program.
pub(crate) struct ListedProgram<P: ?Sized + 'static> {
    /// The description.
    pub(crate) kind: WorkloadKind,
    /// Reads a named input or parameters.
    pub(crate) parse: fn(&str) -> Result<Box<P>, BadInput>,
}

/// A program with its kind.
pub(crate) struct ListedJob<P: ?Sized> {
    /// The description, the same for all inputs.
    pub(crate) kind: &'static WorkloadKind,
    /// The program.
    pub(crate) program: Box<P>,
}

impl<P: ?Sized> ListedProgram<P> {
    /// The program on `input`, or on its default input; not yet prepared.
    pub(crate) fn job(&'static self, input: Option<&str>) -> Result<ListedJob<P>, BadInput> {
        let program = (self.parse)(input.unwrap_or(self.kind.inputs[0].0))?;
        let kind = &self.kind;
        Ok(ListedJob { kind, program })
    }
}
