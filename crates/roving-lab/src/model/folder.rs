//! Where the tables and plots of `roving model` go.

use std::path::PathBuf;

use crate::io::csv::Csv;
use crate::io::input::CommandFailure;
use crate::io::out::{show, write};

/// The folder that files go to.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    /// Writes a table and its plot, and says where.
    pub(super) fn write(
        &self,
        name: &str,
        csv: &Csv,
        plots: &[(&str, Result<String, String>)],
    ) -> Result<(), CommandFailure> {
        let mut written = vec![self.0.join(format!("model-{name}.csv"))];
        write(&written[0], &csv.text())?;
        for (ending, plot) in plots {
            let path = self.0.join(format!("model-{name}{ending}.svg"));
            write(
                &path,
                plot.as_ref()
                    .map_err(|why| CommandFailure::Run(why.clone()))?,
            )?;
            written.push(path);
        }
        let names: Vec<String> = written
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        show(format_args!("written: {}\n\n", names.join(", ")))
    }
}
