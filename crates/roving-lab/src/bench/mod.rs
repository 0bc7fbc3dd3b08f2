//! `roving bench`: every figure that the README claims, measured and written down.

mod arenas;
mod called;
mod cycles;
mod dist;
pub(crate) mod drop_in;
mod duals;
mod first_minute;
mod joins;
mod loops;
mod model;
mod networks;
mod orders;
mod overview;
pub(crate) mod probe;
mod quiet;
mod record;
mod row;
mod scale;
mod server;
mod sides;
mod sleepers;
mod spawn;
mod speed;
mod summary;
mod tasks;
mod trees;

use std::path::PathBuf;

use clap::Args;

use self::record::RowRecord;
use self::row::{Measure, Row, row};
pub(crate) use self::scale::{OUT, OUT_QUICK, Scale};
use crate::io::figures::figures;
use crate::io::input::{BadInput, CommandFailure};
use crate::io::out::show;
use crate::io::out::{make_directory, write};
use crate::machine;
use crate::rivals;

/// `roving bench`.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Rows of the results; all when none is named.
    #[arg(value_name = "ROW")]
    pub(crate) rows: Vec<String>,
    /// Small inputs and few rounds: shows that everything works, and measures badly.
    #[arg(long)]
    pub(crate) quick: bool,
    /// So many rounds at most, for a value that is soon there and less sure.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: Option<u32>,
    /// Where the files go [default: docs/results; with --quick or --rounds: roving-results].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// The words by which a row gets the features that it needs.
fn features(row: &str) -> &'static str {
    match row {
        "duals-vulkan" => "rivals,wgpu",
        "duals-cuda" => "rivals,cuda",
        _ if row.starts_with("dist-") => "rivals,mpi",
        _ => "rivals",
    }
}

/// How this program was built, as words of cargo: figures say which profile they were measured
/// with.
fn profile() -> String {
    match env!("ROVING_CARGO_PROFILE") {
        "debug" => String::new(),
        "release" => " --release".into(),
        name => format!(" --profile {name}"),
    }
}

/// All rows, in the order of the summary.
const ROWS: [Row; 46] = [
    row(
        "fib-1",
        "What a join costs: `fib` without a cut-off on one worker",
        Measure::Table(speed::fib_1),
    ),
    row(
        "joins",
        "Instructions of a join that nobody steals, by callgrind",
        Measure::Table(|_| joins::instructions()),
    ),
    row(
        "cycles",
        "Cycles of the fast paths on one worker, beside the committed row",
        Measure::Table(cycles::cycles),
    ),
    row(
        "fib-2",
        "`fib` without a cut-off on two workers",
        Measure::Table(speed::fib_2),
    ),
    row(
        "uts-t3",
        "A tree whose shape is found while it is searched, against all rivals",
        Measure::Plotted(speed::uts_t3),
    ),
    row(
        "uts-others",
        "The other sample trees of that size",
        Measure::Table(speed::uts_others),
    ),
    row(
        "uts-serial",
        "The serial search by which all speed-ups divide",
        Measure::Table(speed::uts_serial),
    ),
    row(
        "c",
        "C and C++: `fib` and a tree by the header, by closures and by coroutines",
        Measure::Table(sides::measure),
    ),
    row(
        "stress",
        "How fast work is shared: one join of two short leaves",
        Measure::Plotted(speed::stress),
    ),
    row(
        "flat",
        "Very many empty tasks, spawned by one",
        Measure::Table(spawn::flat),
    ),
    row(
        "trees",
        "Trees of tiny tasks as people write them: captures by reference, a task for each node",
        Measure::Table(trees::trees),
    ),
    row(
        "loops",
        "Short loops, loops inside loops and long ones, beside Rayon's iterators",
        Measure::Table(loops::loops),
    ),
    row(
        "tasks",
        "What an async task costs",
        Measure::Table(tasks::cost),
    ),
    row(
        "amounts",
        "One, fixed or half: how much a thief takes of continuations and of tasks",
        Measure::Table(tasks::amounts),
    ),
    row(
        "orders",
        "Work-first or help-first where parallelism is flat, with the profile",
        Measure::Table(orders::flat),
    ),
    row(
        "idle",
        "What an idle pool costs",
        Measure::Table(quiet::idle),
    ),
    row(
        "wake",
        "How fast an idle pool wakes",
        Measure::Table(quiet::wake),
    ),
    row(
        "arenas",
        "What a share of an arena costs, compared with a pool that has threads",
        Measure::Table(arenas::arenas),
    ),
    row(
        "called",
        "Threads that call a pool again and again, with serial parts between, beside Rayon",
        Measure::Table(called::called),
    ),
    row(
        "server",
        "A server that is asked for twice what it can do: latencies, and what is refused",
        Measure::Table(server::server),
    ),
    row(
        "oversubscribed",
        "More workers than cores",
        Measure::Table(speed::oversubscribed),
    ),
    row(
        "sleepers",
        "Many workers on few cores: shapes whose leaves sleep, against all rivals and the bound",
        Measure::Drawn(sleepers::sleepers),
    ),
    row(
        "profile",
        "What statistics cost",
        Measure::Table(speed::profile),
    ),
    row(
        "rayon",
        "Programs for Rayon, with stock rayon-core and with ours",
        Measure::Paged(drop_in::rayon),
    ),
    row(
        "rayon-crowded",
        "Programs for Rayon on four threads a core, with stock rayon-core and with ours",
        Measure::Table(drop_in::crowded),
    ),
    row(
        "iter",
        "Programs for Rayon, with Rayon and with roving-iter in its place",
        Measure::Table(drop_in::iter),
    ),
    row(
        "networks-ring",
        "What a hop from process to process costs",
        Measure::Table(networks::ring),
    ),
    row(
        "networks-scatter",
        "Processes that are handed work, message by message",
        Measure::Table(networks::scatter),
    ),
    row(
        "networks-ratio",
        "How much work a message must carry for two workers to help",
        Measure::Table(networks::ratio),
    ),
    row(
        "networks-random",
        "Running times of a random network: worst and best",
        Measure::Table(networks::random),
    ),
    row(
        "networks-compress",
        "A file compressed in parallel blocks, against pipelines written with others",
        Measure::Table(networks::compress),
    ),
    row(
        "networks-chain",
        "A network of very many processes",
        Measure::Table(networks::chain),
    ),
    row(
        "networks-paper",
        "What Nornir's paper shows in Table 1 and Figures 4 to 7",
        Measure::Drawn(networks::paper),
    ),
    row(
        "dist-uts",
        "A tree searched by ranks: two of one worker against one of two",
        Measure::Table(dist::uts),
    ),
    row(
        "dist-messages",
        "Small messages from rank to rank, in batches and one by one",
        Measure::Table(dist::messages),
    ),
    row(
        "dist-ring",
        "A hop between two ranks, against MPI's own messages of the same bytes",
        Measure::Table(dist::ring),
    ),
    row(
        "dist-checkpoints",
        "A search and a network by ranks that write checkpoints, against the same without",
        Measure::Table(dist::checkpoints),
    ),
    row(
        "dist-efficiency",
        "A tree searched by 1, 2, 4 and 8 ranks, against one rank of as many workers",
        Measure::Table(dist::efficiency),
    ),
    row(
        "dist-kills",
        "Searches of which ranks are killed, and which `roving launch` starts again",
        Measure::Table(dist::kills),
    ),
    row(
        "dist-model",
        "A bag on simulated ranks, with other lifelines and with more ranks than there are",
        Measure::Table(dist::model),
    ),
    row(
        "duals-overhead",
        "What it costs that a task could have a GPU side",
        Measure::Table(duals::overhead),
    ),
    row(
        "duals-sim",
        "The choice between CPU and GPU, on a simulated device of many speeds",
        Measure::Table(duals::sim),
    ),
    row(
        "duals-vulkan",
        "The choice between CPU and GPU, on a Vulkan device",
        Measure::Table(duals::vulkan),
    ),
    row(
        "duals-cuda",
        "CPU and GPU together on NVIDIA: a product beside cuBLAS, Cholesky, bodies",
        Measure::Table(duals::cuda),
    ),
    row(
        "model",
        "How near the model is to its equations, and to the runtime",
        Measure::Table(model::model),
    ),
    row(
        "first-minute",
        "What it takes until there is an answer, and what a program with one join takes to build",
        Measure::Table(first_minute::measure),
    ),
];

/// The rows that the user named, or all.
fn chosen(names: &[String]) -> Result<Vec<&'static Row>, BadInput> {
    if names.is_empty() {
        return Ok(ROWS.iter().collect());
    }
    let known = || {
        ROWS.iter()
            .map(|row| row.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut rows: Vec<&'static Row> = Vec::new();
    for name in names {
        // The first word of several rows stands for them all.
        let group = format!("{name}-");
        let found = ROWS
            .iter()
            .filter(|row| row.name == name || row.name.starts_with(&group));
        let before = rows.len();
        rows.extend(found);
        if rows.len() == before {
            let allowed = format!("some of {}", known());
            return Err(BadInput::new("row", name, allowed, "leave it out for all"));
        }
    }
    Ok(rows)
}

/// `roving bench`.
pub(crate) fn run(args: &BenchArgs) -> Result<(), CommandFailure> {
    let rows = chosen(&args.rows)?;
    let mut scale = if args.quick {
        Scale::QUICK
    } else {
        Scale::FULL
    };
    scale.rounds_max = args.rounds.map_or(usize::MAX, |rounds| rounds as usize);
    let real = !args.quick && args.rounds.is_none();
    let plain = if real { OUT } else { OUT_QUICK };
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(plain));
    make_directory(&out)?;
    rivals::deepen_stacks();
    for row in rows {
        let machine = format!("{}; commit {}", machine::line(), machine::commit());
        let quick = if args.quick { " --quick" } else { "" };
        let features = features(row.name);
        let command = format!(
            "cargo run{} --features {features} -- bench{quick} {}",
            profile(),
            row.name
        );
        let (record, beside) = measured(row, &scale)?;
        show(format_args!("{}", shown(row, &record)))?;
        write(
            &out.join(format!("{}.csv", row.name)),
            &record.csv(&command, &machine).text(),
        )?;
        for (ending, text) in beside {
            write(&out.join(format!("{}{ending}", row.name)), &text)?;
        }
        summary::write(&out, &ROWS)?;
    }
    show(format_args!(
        "written: {}\n",
        out.join("README.md").display()
    ))?;
    Ok(())
}

/// Measures a row: its table, and what stands beside it, by the end of the file's name.
fn measured(
    row: &Row,
    scale: &Scale,
) -> Result<(RowRecord, Vec<(String, String)>), CommandFailure> {
    Ok(match row.measure {
        Measure::Table(measure) => (measure(scale)?, Vec::new()),
        Measure::Plotted(measure) => {
            let (record, plot) = measure(scale)?;
            (record, vec![(".svg".into(), plot)])
        }
        Measure::Paged(measure) => {
            let (record, page) = measure(scale)?;
            (record, vec![(".md".into(), page)])
        }
        Measure::Drawn(measure) => {
            let (record, files) = measure(scale)?;
            let files = files
                .into_iter()
                .map(|(name, text)| (format!("-{name}"), text));
            (record, files.collect())
        }
    })
}

/// A row for people.
fn shown(row: &Row, record: &RowRecord) -> String {
    let mut text = format!("{}: {}\n", row.name, row.about);
    for one in &record.measurements {
        let (median, min) = (figures(one.median), figures(one.min));
        text.push_str(&format!(
            "  {:<70}{median:>12} {:<13} least {min}\n",
            one.what, one.unit
        ));
    }
    for claim in &record.claims {
        let (value, verdict) = (figures(claim.value), claim.verdict());
        let what = format!("{} {}", claim.what, claim.must.text());
        text.push_str(&format!(
            "  {what:<70}{value:>12} {:<13} {verdict}\n",
            claim.unit
        ));
    }
    for why in &record.absent {
        text.push_str(&format!("  not measured, or not quite the same: {why}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), ROWS.len());
        let names: Vec<_> = chosen(&["wake".into(), "fib-1".into()])
            .unwrap()
            .iter()
            .map(|row| row.name)
            .collect();
        assert_eq!(names, ["wake", "fib-1"]);
        let networks = chosen(&["networks".into()]).unwrap();
        assert!(
            networks.len() == 7 && networks.iter().all(|row| row.name.starts_with("networks-"))
        );
        let error = chosen(&["fib-3".into()]).err().unwrap().to_string();
        assert!(
            error.contains("`fib-3`") && error.contains("uts-t3"),
            "{error}"
        );
    }

    #[test]
    fn names_are_files_and_differ() {
        for (place, row) in ROWS.iter().enumerate() {
            assert!(
                row.name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            );
            assert!(ROWS[..place].iter().all(|other| other.name != row.name));
        }
    }
}
