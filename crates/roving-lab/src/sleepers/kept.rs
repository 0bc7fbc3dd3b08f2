//! Cells of a row that was cut off: measured again are only those that are missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::bound::Bounds;
use super::cell::GridCell;
use super::settings::{GridSettings, command};
use super::verdict;
use crate::io::csv::Csv;
use crate::io::input::CommandFailure;
use crate::io::out::{make_directory, write};
use crate::rivals::Runtime;
use crate::shapes::shape::{KINDS, ShapeKind};

/// The cells that are measured so far, in a file until all are.
pub(crate) struct Kept {
    /// None where nothing is kept.
    file: Option<PathBuf>,
    command: String,
    cells: Vec<GridCell>,
}

impl Kept {
    pub(crate) fn nowhere() -> Kept {
        Kept {
            file: None,
            command: String::new(),
            cells: Vec::new(),
        }
    }

    /// In that file, of whose cells only those count that this build of the program has measured
    /// with these settings.
    pub(crate) fn in_file(file: PathBuf, settings: &GridSettings) -> Kept {
        let command = command(settings);
        let built = std::env::current_exe().ok().and_then(|exe| changed(&exe));
        let text = match changed(&file) > built {
            true => fs::read_to_string(&file).unwrap_or_default(),
            false => String::new(),
        };
        // Whatever is wrong with the file, its cells can be measured.
        let cells = read(&text, &command).unwrap_or_default();
        Kept {
            file: Some(file),
            command,
            cells,
        }
    }

    /// The cells of one shape on so many workers, all or none.
    pub(super) fn of(&self, kind: &'static ShapeKind, workers: usize) -> Vec<GridCell> {
        let here = |cell: &&GridCell| std::ptr::eq(cell.kind, kind) && cell.workers == workers;
        self.cells.iter().filter(here).cloned().collect()
    }

    pub(super) fn keep(&mut self, cells: &[GridCell]) -> Result<(), CommandFailure> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        self.cells.extend_from_slice(cells);
        if let Some(folder) = file.parent() {
            make_directory(folder)?;
        }
        write(file, &verdict::csv(&self.cells, &self.command).text())
    }

    /// All cells are measured and written elsewhere: the next run begins anew.
    pub(crate) fn forget(self) {
        if let Some(file) = self.file {
            let _ = fs::remove_file(file);
        }
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}

/// The cells of a text that [`verdict::csv`] made with that command.
fn read(text: &str, command: &str) -> Result<Vec<GridCell>, String> {
    let csv = Csv::parse(text)?;
    let mut cells = Vec::new();
    for row in &csv.rows {
        let field = |name| csv.field(row, name);
        if field("command")? != command {
            continue;
        }
        let workers = field("workers")?.parse().map_err(|_| "no number")?;
        let (shape, runtime) = (field("shape")?, field("runtime")?);
        let kind = KINDS.iter().find(|kind| kind.name == shape);
        let kind = kind.ok_or("no shape")?;
        let seconds = |name| -> Result<f64, String> {
            let ms: Result<f64, _> = field(name)?.parse();
            ms.map(|ms| ms / 1e3).map_err(|error| error.to_string())
        };
        cells.push(GridCell {
            kind,
            workers,
            form: Runtime::named(runtime).ok_or("no runtime")?,
            runs: field("runs")?.parse().map_err(|_| "no number")?,
            median: seconds("ms_median")?,
            min: seconds("ms_min")?,
            cpu: seconds("cpu_ms_median")?,
            bounds: Bounds::of(&kind.for_workers(workers).whole(), workers),
            predicted: match field("predicted_ms")? {
                "" => None,
                _ => Some(seconds("predicted_ms")?),
            },
        });
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::shape::Leaves;

    fn cell(kind: &'static ShapeKind, form: Runtime) -> GridCell {
        GridCell {
            kind,
            workers: 4,
            form,
            runs: 7,
            median: 0.25,
            min: 0.125,
            cpu: f64::NAN,
            bounds: Bounds::of(&kind.for_workers(4).whole(), 4),
            predicted: (form == Runtime::Roving).then_some(0.5),
        }
    }

    #[test]
    fn a_row_that_was_cut_off_goes_on_with_the_shapes_that_are_missing() {
        let [first, second] = [&KINDS[0], &KINDS[1]];
        let settings = |rounds| GridSettings {
            workers: vec![4],
            kinds: vec![first, second],
            forms: vec![Runtime::Roving, Runtime::Rayon, Runtime::DropIn],
            rounds,
            leaves: Leaves::default(),
            crowded: false,
            load: 0,
        };
        let file = std::env::temp_dir().join(format!("roving-kept-{}.csv", std::process::id()));
        let open = |rounds| Kept::in_file(file.clone(), &settings(rounds));
        let cells: Vec<GridCell> = settings(7)
            .forms
            .into_iter()
            .map(|form| cell(first, form))
            .collect();
        open(7).keep(&cells).unwrap();
        let again = open(7);
        assert_eq!(format!("{:?}", again.of(first, 4)), format!("{cells:?}"));
        assert!(again.of(second, 4).is_empty() && again.of(first, 8).is_empty());
        assert!(open(9).of(first, 4).is_empty(), "of other settings");
        let old = fs::File::options().append(true).open(&file).unwrap();
        old.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(open(7).of(first, 4).is_empty(), "of an older program");
        again.forget();
        assert!(!file.exists());
    }
}
