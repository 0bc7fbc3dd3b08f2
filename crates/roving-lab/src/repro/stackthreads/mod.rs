//! StackThreads/MP, extended: how much a thief takes, and where the time of the workers goes.
//!
//! The strategies of the paper are those of our async tasks in the order `fork`: the child runs at
//! once, and thieves take continuations. `st_org` takes one, `st_sta` a fixed number, `st_dyn`
//! half.

mod figures;
mod judges;

use roving::policy::Amount;

pub(super) use self::figures::FIGURES;
use super::contest::{Contestant, contest, profiles};
use super::plan::{MeasureGroup, SizeAndMachine};
use super::sizes::{greatest, input, inputs, numbers};
use crate::forms::tasks::Form;
use crate::rivals::Runtime;

/// The fixed amount of the paper for UTS, found there by hand.
const FIXED_UTS: usize = 20;
/// The fixed amount of the paper for all else.
const FIXED: usize = 2;

/// The three strategies.
fn strategies(fixed: usize) -> [Amount; 3] {
    [Amount::One, Amount::Fixed(fixed), Amount::Half]
}

/// The strategies, Roving's closures, and the runtimes that the paper has or that take their place.
fn contestants(fixed: usize, rivals: &[Runtime]) -> Vec<Contestant> {
    let fork = strategies(fixed).map(|amount| Contestant::Taking(Runtime::RovingFork, amount));
    let others = [Runtime::Roving]
        .iter()
        .chain(rivals)
        .map(|one| Contestant::Plain(*one));
    fork.into_iter().chain(others).collect()
}

/// The sizes of a program for which speed-ups are drawn, the last of them for the profile as well.
fn sizes(plan: &SizeAndMachine, program: &str) -> &'static [&'static str] {
    inputs(plan, &format!("st-{program}"))
}

/// The inputs of the two trees. A is the paper's own in both sizes.
pub(super) fn tree(plan: &SizeAndMachine, tree: &str) -> String {
    let name = if tree == "A" { "st-uts-a" } else { "st-uts-b" };
    input(plan, name).to_owned()
}

/// How many continuations a thief takes in figure 15.
fn lengths(plan: &SizeAndMachine) -> Vec<usize> {
    let lengths = numbers(plan, "st-lengths").into_iter();
    lengths.map(|length| length as usize).collect()
}

/// The measurements.
pub(super) fn groups(plan: &SizeAndMachine) -> Vec<MeasureGroup> {
    let mut groups = trees(plan);
    groups.extend(fibonacci(plan));
    for program in ["strassen", "sparselu", "fft"] {
        groups.extend(matrices(plan, program));
    }
    groups
}

/// UTS.
fn trees(plan: &SizeAndMachine) -> Vec<MeasureGroup> {
    let all = || plan.workers.clone();
    let contest = |name, seconds, letter| {
        let rivals = [Runtime::Rayon, Runtime::Tbb, Runtime::OpenMp];
        let job = ("uts", tree(plan, letter));
        contest(
            plan,
            name,
            seconds,
            job,
            contestants(FIXED_UTS, &rivals),
            all(),
        )
    };
    let amounts = strategies(FIXED_UTS).to_vec();
    let job = ("uts", tree(plan, "A"));
    vec![
        contest("st-uts-a", (22.0, 180.0), "A"),
        profiles(
            plan,
            "st-uts-a-profile",
            (7.0, 60.0),
            job,
            Form::Fork,
            amounts,
            all(),
        ),
        contest("st-uts-b", (9.0, 400.0), "B"),
    ]
}

/// Fibonacci: one worker's overhead, the amounts, and the speed-up.
fn fibonacci(plan: &SizeAndMachine) -> Vec<MeasureGroup> {
    let fib = |name: &str| ("fib", input(plan, name).to_owned());
    let job = || fib("st-fib");
    let rivals = [Runtime::Rayon, Runtime::Tbb, Runtime::OpenMp];
    let (with, without) = (contestants(FIXED, &rivals), contestants(FIXED, &[]));
    let lengths = lengths(plan).into_iter().map(Amount::Fixed).collect();
    let (all, most) = (plan.workers.clone(), vec![plan.cores]);
    vec![
        contest(
            plan,
            "st-fib-30",
            (4.0, 40.0),
            fib("st-fib-30"),
            with,
            vec![1],
        ),
        profiles(
            plan,
            "st-fib-lengths",
            (6.0, 90.0),
            job(),
            Form::Fork,
            lengths,
            most,
        ),
        contest(plan, "st-fib", (5.0, 120.0), job(), without, all),
    ]
}

/// A program on matrices or vectors at each size, and its profile at the last.
fn matrices(plan: &SizeAndMachine, program: &'static str) -> Vec<MeasureGroup> {
    let sizes = sizes(plan, program);
    let job = |size: &str| (program, size.to_owned());
    let mut groups: Vec<MeasureGroup> = sizes
        .iter()
        .map(|size| {
            let name = format!("st-{program}/{size}");
            let rivals = contestants(FIXED, &[Runtime::Rayon]);
            contest(
                plan,
                name,
                (3.5, 90.0),
                job(size),
                rivals,
                plan.workers.clone(),
            )
        })
        .collect();
    let name = format!("st-{program}-profile");
    let amounts = strategies(FIXED).to_vec();
    let last = job(sizes[sizes.len() - 1]);
    groups.push(profiles(
        plan,
        name,
        (3.0, 60.0),
        last,
        Form::Fork,
        amounts,
        vec![plan.cores],
    ));
    groups
}

/// The group of a program at its last size.
fn last(plan: &SizeAndMachine, program: &str) -> String {
    format!("st-{program}/{}", greatest(plan, &format!("st-{program}")))
}
