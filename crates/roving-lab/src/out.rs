//! Standard output.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write as _};

use crate::input::Failure;

/// Writes to standard output. Who has stopped reading it, as `head` does, wants no more: that is no
/// error, and what goes into files is still measured and written.
pub(crate) fn show(text: Arguments<'_>) -> Result<(), Failure> {
    let mut out = io::stdout();
    match out.write_fmt(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Run(format!(
            "standard output was not written: {error}"
        ))),
        _ => Ok(()),
    }
}
