//! The texts of `--help`, held: what they claim as data is computed here from what the command
//! uses, and what they claim of its behaviour names the test that runs it.
//!
//! Each argument has a line below. A new one without a line, a default that has changed, a claim
//! whose words are gone and a test that is gone are failures.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::CommandFactory as _;

use super::Cli;
use super::launch;
use crate::bench::{self, drop_in};
use crate::dist;
use crate::duals::words::Wanted;
use crate::forms::tasks::Form;
use crate::job::settings::{JobSettings, parse_steal};
use crate::machine::cores;
use crate::model::{self, args::ModelArgs};
use crate::networks::placement::{self, NamedPlacement};
use crate::rivals::Runtime;
use crate::{compare, repro, top};

/// A claim of a help text.
struct HelpClaim {
    /// The command and the argument, or the command alone.
    of: &'static str,
    /// Words that the text has.
    says: String,
    /// The test that runs it; none where the words are computed from what the command uses.
    by: Option<&'static str>,
}

fn data(of: &'static str, says: impl Into<String>) -> HelpClaim {
    let says = says.into();
    HelpClaim { of, says, by: None }
}

fn usual(of: &'static str, value: impl std::fmt::Display) -> HelpClaim {
    data(of, format!("[default: {value}]"))
}

fn run(of: &'static str, says: &str, by: &'static str) -> HelpClaim {
    let says = says.to_owned();
    let by = Some(by);
    HelpClaim { of, says, by }
}

/// Of `roving` and `roving run`.
fn of_run() -> Vec<HelpClaim> {
    const EVERY: &str = "every_workload_is_listed_and_runs_and_is_verified";
    const REFUSED: &str = "what_cannot_be_done_is_said_in_one_line";
    const FIELDS: &str = "json_has_the_named_fields_and_no_others";
    let plain = JobSettings::default();
    assert_eq!(plain.workers, cores(), "as many as cores");
    let mut claims = vec![
        run(
            "",
            "searches the UTS tree T3",
            "the_first_words_search_the_tree_that_the_help_names",
        ),
        run("run", "and serially, and compare", FIELDS),
        run("list", "the workloads and their inputs", EVERY),
        run("run workload", "`roving list` shows them", EVERY),
        run("run input", "A named input, or parameters", EVERY),
        run(
            "run workers",
            "[default: `ROVING_WORKERS`, or as many as cores]",
            "the_number_of_workers_may_come_from_the_environment",
        ),
        usual("run form", plain.form.name()),
        run("run steal", "one, fixed:D, half", REFUSED),
        usual("run steal", plain.steal),
        usual("run placement", NamedPlacement::default().name()),
        run(
            "run graph",
            "Draw a network",
            "a_network_is_drawn_into_a_file",
        ),
        run(
            "run explain",
            "on either side, and what came; with `--device`",
            "choices_are_explained",
        ),
        run(
            "run trace",
            "as a trace",
            "a_profile_has_lanes_and_a_trace_is_written",
        ),
        usual("run repeat", plain.repeat),
        run("run repeat", "the times are medians", FIELDS),
        run(
            "run profile",
            "from one run more",
            "the_table_says_what_was_found_and_how_it_was_verified",
        ),
        run("run json", "`-` writes it to standard output", FIELDS),
        run(
            "run json",
            "Write the result as JSON",
            "json_goes_into_a_file_beside_the_table",
        ),
    ];
    claims.extend(of_device());
    claims.extend(of_dist());
    claims.extend(Form::ALL.map(|form| data("run form", form.name())));
    claims.extend(NamedPlacement::all().map(|place| data("run placement", place.name())));
    for amount in ["one", "fixed:1", "half"] {
        assert!(parse_steal(amount).is_ok(), "{amount}");
    }
    claims
}

/// Of `run --dist`.
fn of_dist() -> Vec<HelpClaim> {
    vec![
        run(
            "run dist",
            "rank 0 prints",
            "rank_0_prints_the_verified_tree_and_the_others_nothing",
        ),
        run(
            "run checkpoints",
            "go on from the last one that is there, on as many ranks as before or on others",
            "a_search_resumes_on_as_many_ranks_or_on_others",
        ),
        usual("run every", dist::settings::EVERY_MS),
    ]
}

/// Of `launch`.
fn of_launch() -> Vec<HelpClaim> {
    const KILLED: &str = "a_killed_rank_is_noticed_and_the_search_goes_on_to_the_exact_count";
    const ENDS: &str = "a_program_that_fails_is_not_started_again";
    vec![
        run("launch", "start it again when one is lost", KILLED),
        run("launch ranks", "How many ranks", KILLED),
        run(
            "launch restart",
            "at most, when a rank was lost",
            "the_restarts_have_a_limit",
        ),
        usual("launch restart", launch::RESTARTS_USUAL),
        run("launch fewer", "one rank fewer each time", KILLED),
        run("launch mpirun", "More words for `mpirun`", KILLED),
        run(
            "launch program",
            "has to resume from its checkpoints by itself",
            ENDS,
        ),
    ]
}

/// Of `run --device`.
fn of_device() -> Vec<HelpClaim> {
    const DEVICES: &str = "every_program_is_listed_and_runs_and_is_verified";
    const UNKNOWN: &str = "without_a_device_it_says_why_and_what_to_do";
    let kept = "by times that are measured and kept";
    let mut claims = vec![
        run("run device", "none: no device is looked for", DEVICES),
        run("run device", "sim:10: as auto", DEVICES),
        run("run device", kept, UNKNOWN),
    ];
    for words in [
        "none",
        "auto",
        "cpu",
        "gpu",
        "split:0.3",
        "sim:10",
        "sim:2,fail:3",
        "sim:2,memory:64,rate:100",
    ] {
        assert!(Wanted::parse(words).is_ok(), "{words}");
        claims.extend(
            words
                .split(',')
                .map(|word| data("run device", word.split(':').next().unwrap_or(word))),
        );
    }
    claims
}

/// Of `compare sleepers`.
fn of_sleepers() -> Vec<HelpClaim> {
    const SLEEPERS: &str = "sleepers_are_compared_with_rivals_and_bounds";
    const SLEEPER_WORDS: &str = "words_of_sleepers_are_read";
    vec![
        usual("compare shapes", "all"),
        run("compare shapes", "Shapes", "shapes_are_chosen_by_name"),
        usual("compare load", 0),
        usual("compare spin", 0),
        run("compare load", "other programs", SLEEPERS),
        run("compare spin", "in per cent", SLEEPER_WORDS),
        run("compare crowded", "count on the cores", SLEEPER_WORDS),
        run("compare quick", "A few shapes", SLEEPER_WORDS),
    ]
}

/// Of `compare`, `bench` and `drop-in`, which measure.
fn of_measuring() -> Vec<HelpClaim> {
    const COMPARED: &str = "a_comparison_prints_a_table_and_writes_a_csv_and_a_plot";
    const WRITTEN: &str = "rows_are_measured_and_written_down";
    let mut claims = vec![
        run("compare", "on its rivals, in turn", COMPARED),
        run(
            "compare workload",
            "`roving list` shows them",
            "wrong_words_get_one_line_and_status_2",
        ),
        run("compare input", "A named input, or parameters", COMPARED),
        usual("compare against", "all"),
        usual("compare steal", compare::args::STEAL),
        run(
            "compare steal",
            "one, fixed:D, half",
            "ours_take_part_once_for_each_amount",
        ),
        run(
            "compare workers",
            "[default: 1 and one a core]",
            "workers_are_a_list",
        ),
        usual("compare repeat", compare::args::REPEAT),
        usual("compare out", compare::args::OUT),
        run("bench", "Measure every figure", WRITTEN),
        run(
            "bench rows",
            "all when none is named",
            "rows_are_chosen_by_name",
        ),
        run("bench quick", "Small inputs and few rounds", WRITTEN),
        run(
            "bench rounds",
            "So many rounds at most",
            "rounds_are_limited",
        ),
        data(
            "bench out",
            format!(
                "[default: {}; with --quick or --rounds: {}]",
                bench::OUT,
                bench::OUT_QUICK
            ),
        ),
    ];
    claims.extend(of_drop_in());
    let rivals = Runtime::parse_list("all").expect("it is allowed");
    claims.extend(
        rivals
            .iter()
            .map(|rival| data("compare against", rival.name())),
    );
    let ours = ["roving-fork", "roving-spawn", "roving-branch", "drop-in"];
    assert!(Runtime::parse_list(&ours.join(",")).is_ok());
    claims.extend(ours.map(|one| data("compare against", one)));
    claims
}

/// Of `drop-in`.
fn of_drop_in() -> Vec<HelpClaim> {
    const DROP_IN: &str = "wrong_words_about_the_drop_in_get_one_line_and_status_2";
    let (least, most) = drop_in::ROUNDS_OF_HELP;
    vec![
        run("drop-in", "Time programs for Rayon", DROP_IN),
        run("drop-in workloads", "all when none is named", DROP_IN),
        usual("drop-in rounds", format!("{least} to {most}")),
        run(
            "drop-in inside",
            "from a thread of the pool",
            "both_programs_are_told_where_to_call_from_and_how_much",
        ),
        run("drop-in quick", "Small inputs and two rounds", DROP_IN),
        usual("drop-in threads", drop_in::THREADS_OF_HELP),
        usual("drop-in core", drop_in::CORE),
        run(
            "drop-in iter",
            "roving-iter in the place of rayon",
            "copies_have_no_patch_and_follow_the_package",
        ),
    ]
}

/// Of `model`.
fn of_model() -> Vec<HelpClaim> {
    let plan = model::args::CheckedArgs::parse(&ModelArgs::default()).expect("the defaults do");
    let list = |values: Vec<String>| values.join(",");
    let workers = plan.workers.iter().map(usize::to_string).collect();
    let amounts = plan.amounts.iter().map(ToString::to_string).collect();
    let ranks = model::ranks::RANKS.map(|count| count.to_string()).to_vec();
    let latencies = plan.latencies_us.iter().map(f64::to_string).collect();
    let (first, last) = (plan.loads[0], plan.loads[plan.loads.len() - 1]);
    const CROSSED: &str = "where_amounts_cross_is_said";
    const DRAWN: &str = "a_simulated_runtime_is_drawn_from_a_recorded_tree";
    let mut claims = vec![
        run(
            "model",
            "what the model of stealing predicts",
            "equations_are_drawn",
        ),
        usual("model figures", "all but ranks"),
        usual("model work", &plan.work.name),
        usual("model workers", list(workers)),
        data(
            "model workers",
            format!("up to {}", model::args::WORKERS_MAX),
        ),
        usual("model ranks", list(ranks)),
        data("model ranks", format!("up to {}", model::args::WORKERS_MAX)),
        usual("model latency", list(latencies)),
        usual("model steal", list(amounts)),
        run("model grain", "instead of that measured here", CROSSED),
        usual("model load", format!("all of {first} to {last}")),
        usual("model retry", model::args::RETRY_OF_POLICIES),
        usual("model retry", model::args::RETRY_OF_DRAIN),
        usual("model loaded", plan.loaded),
        usual("model tasks", plan.tasks),
        usual("model seed", plan.seed),
        run(
            "model stock-costs",
            "instead of measuring those of this machine",
            DRAWN,
        ),
        run("model record", "draws nothing", DRAWN),
        usual("model out", model::OUT),
    ];
    claims.extend(model::args::FIGURES.map(|(name, _)| data("model figures", name)));
    claims
}

/// Of `repro`.
fn of_repro() -> Vec<HelpClaim> {
    let mut claims = vec![
        run(
            "repro",
            "beside what the papers found",
            "a_run_that_was_killed_goes_on_with_the_points_it_has",
        ),
        run(
            "repro what",
            "[default: all]",
            "figures_are_chosen_by_name_by_paper_or_all",
        ),
        run(
            "repro quick",
            "in under five minutes on two cores",
            "a_quick_run_is_planned_for_less_than_five_minutes",
        ),
        run(
            "repro quick",
            "This is the default",
            "a_run_is_quick_unless_it_is_full",
        ),
        run(
            "repro full",
            "The papers' sizes",
            "a_full_run_has_the_papers_sizes",
        ),
        usual("repro out", repro::OUT),
        run(
            "repro against",
            "fail where a verdict contradicts its verdict",
            "a_verdict_that_turns_is_a_failure_that_names_the_figure",
        ),
    ];
    claims.extend(repro::papers().map(|paper| data("repro what", paper)));
    claims
}

/// Of `top`.
fn of_top() -> Vec<HelpClaim> {
    vec![
        run(
            "top",
            "start it with ROVING_TOP=1",
            "one_look_shows_each_worker",
        ),
        run(
            "top program",
            "[default: the only program that can be watched]",
            "the_only_program_is_found_without_its_number",
        ),
        usual("top every", top::EVERY_MS_USUAL),
        run("top once", "one look as text", "one_look_shows_each_worker"),
    ]
}

fn claims() -> Vec<HelpClaim> {
    [
        of_run(),
        of_launch(),
        of_measuring(),
        of_sleepers(),
        of_model(),
        of_repro(),
        of_top(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The help of each visible command and argument, by its name.
fn texts() -> Vec<(String, String)> {
    let cli = Cli::command();
    let about = |command: &clap::Command| {
        let text = command.get_long_about().or(command.get_about());
        text.map(ToString::to_string).unwrap_or_default()
    };
    let mut texts = vec![(String::new(), about(&cli))];
    for command in cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        let name = command.get_name();
        texts.push((name.to_owned(), about(command)));
        for argument in command.get_arguments().filter(|one| !one.is_hide_set()) {
            let id = argument.get_id().as_str().replace('_', "-");
            let text = argument.get_long_help().or(argument.get_help());
            texts.push((
                format!("{name} {id}"),
                text.map(ToString::to_string).unwrap_or_default(),
            ));
        }
    }
    texts
}

/// All functions of the lab and of its tests.
fn functions() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open = vec![root.join("src"), root.join("tests")];
    let mut found = BTreeSet::new();
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder)
            .expect("a folder")
            .flatten()
            .map(|entry| entry.path())
        {
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let names = text.split("fn ").skip(1);
            found.extend(names.filter_map(|rest| Some(rest.split_once('(')?.0.to_owned())));
        }
    }
    found
}

#[test]
fn each_argument_has_a_claim_and_each_claim_is_in_its_text() {
    let (claims, texts) = (claims(), texts());
    for (name, text) in &texts {
        let held: Vec<&HelpClaim> = claims.iter().filter(|claim| claim.of == name).collect();
        assert!(
            !held.is_empty(),
            "nothing holds the help of `{name}`: {text}"
        );
        for usual in text.split("[default: ").skip(1) {
            let usual = format!("[default: {}]", usual.split(']').next().unwrap_or_default());
            let is_held = held.iter().any(|claim| claim.says.contains(&usual));
            assert!(is_held, "`{name}`: {usual} is not compared with anything");
        }
    }
    for claim in &claims {
        let text = texts.iter().find(|(name, _)| name == claim.of);
        let text = text.unwrap_or_else(|| panic!("there is no `{}`", claim.of));
        assert!(
            text.1.contains(&claim.says),
            "`{}` does not say `{}`: {}",
            claim.of,
            claim.says,
            text.1
        );
    }
}

#[test]
fn each_test_that_holds_a_claim_is_there() {
    let functions = functions();
    for by in claims().iter().filter_map(|claim| claim.by) {
        assert!(functions.contains(by), "there is no test `{by}`");
    }
}

#[test]
fn the_first_words_search_the_tree_that_the_help_names() {
    assert_eq!(super::run::FIRST, ("uts", "T3"));
    let placements = NamedPlacement::all().map(|place| placement::parse(place.name()).is_ok());
    assert!(placements.iter().all(|is_read| *is_read));
}
