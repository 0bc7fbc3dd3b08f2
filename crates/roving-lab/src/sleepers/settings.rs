//! The settings of a measurement of shapes whose leaves sleep, and the command that gives them.

use crate::rivals::Runtime;
use crate::shapes::shape::{KINDS, Leaves, ShapeKind};

pub(crate) const WORKERS: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Forte's threads tick while others are timed, and the drop-in takes minutes to build: they take
/// part when they are named.
pub(crate) const FORMS: [Runtime; 6] = [
    Runtime::Roving,
    Runtime::RovingFork,
    Runtime::RovingSpawn,
    Runtime::Rayon,
    Runtime::Chili,
    Runtime::Tokio,
];
pub(crate) const ROUNDS: usize = 7;

/// The cells to be measured, and how.
#[derive(Clone, Debug)]
pub(crate) struct GridSettings {
    pub(crate) workers: Vec<usize>,
    pub(crate) kinds: Vec<&'static ShapeKind>,
    pub(crate) forms: Vec<Runtime>,
    pub(crate) rounds: usize,
    pub(crate) leaves: Leaves,
    /// Our pools count on the cores that there are.
    pub(crate) crowded: bool,
    /// How many other programs spin meanwhile.
    pub(crate) load: usize,
}

/// The command, without the lists that it would take by itself: each row of a table has it.
pub(crate) fn command(settings: &GridSettings) -> String {
    let list = |words: &mut dyn Iterator<Item = String>| words.collect::<Vec<_>>().join(",");
    let workers = list(&mut settings.workers.iter().map(usize::to_string));
    let shapes = list(&mut settings.kinds.iter().map(|kind| kind.name.to_owned()));
    let forms = settings.forms.iter().skip(1);
    let forms = list(&mut forms.map(|form| form.name().to_owned()));
    let GridSettings { rounds, load, .. } = settings;
    let spin = settings.leaves.spin * 100.0;
    let word = |is_there, word: String| if is_there { word } else { String::new() };
    let shapes = word(
        settings.kinds.len() < KINDS.len(),
        format!(" --shapes {shapes}"),
    );
    let forms = word(settings.forms != FORMS, format!(" --forms {forms}"));
    let crowded = word(settings.crowded, " --crowded".into());
    format!(
        "roving compare sleepers --workers {workers}{shapes}{forms} --repeat {rounds} \
         --load {load} --spin {spin}{crowded}"
    )
}
