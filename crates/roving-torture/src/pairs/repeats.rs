//! Steps that are networks of other shapes: run again and again, with sources of several kinds,
//! stages that await, rings, and networks that are refused.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use roving::Pool;
use roving_flow::{Error, In, Network, Out, Repeat};

use super::checked::{MESSAGES, SUM, check_sum, run_here};
use super::feature::Feature;
use super::program::FeatureStep;
use super::tasks;
use super::world::{Cx, PartFate, call, part};

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::Repeat => repeat(step, cx),
        Feature::Sources => sources(step, cx),
        Feature::StageAsync => stage_async(step, cx),
        Feature::Zip => zip(step, cx),
        Feature::Ring => ring(step, cx),
        Feature::NetRefused => refused(step, cx),
        _ => {}
    }
}

/// The job of one run of a network that is repeated.
struct RepeatedRun<'c, 'e> {
    step: &'c FeatureStep,
    cx: &'c Cx<'e>,
    seen: &'c PartFate,
    number: u32,
    sum: AtomicU64,
}

/// The network of one job. The second job fails, panics, or is cancelled.
fn build<'j>(network: &mut Network<'j>, job: &'j mut RepeatedRun<'_, '_>) {
    let job: &'j RepeatedRun<'_, '_> = job;
    let (step, cx) = (job.step, job.cx);
    let (out, numbers) = network.bounded("numbers", 1);
    let (go, may_go) = network.bounded("go", 1);
    // The receiver takes nothing before it is told: the channel has to grow, in the first run.
    network.process("gives", (out, go), |(mut out, mut go)| async move {
        for number in 0..MESSAGES {
            let _ = Out::send(&mut out, number).await;
        }
        let _ = Out::send(&mut go, ()).await;
    });
    let canceller = network.canceller();
    let takes = move |(mut numbers, mut may_go): (In<u64>, In<()>)| async move {
        if job.number == 0 {
            job.seen.watch_process(|| part(step, 0, cx));
        }
        may_go.recv().await;
        while let Some(number) = numbers.recv().await {
            job.sum.fetch_add(number, Relaxed);
            match (job.number, step.mode) {
                (1, 0) => return Err(std::fmt::Error),
                (1, 1) => panic::resume_unwind(Box::new("as told")),
                (1, 2) => canceller.cancel(),
                _ => {}
            }
        }
        Ok(())
    };
    network.try_process("takes", (numbers, may_go), takes);
}

/// One run; a panic of the first goes on where all have ended.
fn one_run(step: &FeatureStep, cx: &Cx<'_>, job: &RepeatedRun<'_, '_>, result: Result<(), Error>) {
    match (job.number, result) {
        (1, Err(Error::Failed { .. })) if step.mode == 0 => {}
        (1, Err(Error::Panicked { .. })) if step.mode == 1 => {}
        (1, Err(Error::Cancelled)) if step.mode == 2 => {}
        (_, Err(Error::Cancelled)) if cx.cancels => {}
        (0, Err(Error::Panicked { payload, .. })) => panic::resume_unwind(payload.into_panic()),
        (1, Ok(())) if step.mode < 3 => cx.world.complain(step, "a run did not fail"),
        (_, Ok(())) => check_sum(step, cx, &job.sum, SUM),
        (number, Err(error)) => {
            let text = format!("run {number} of a network: {error}");
            cx.world.complain(step, text);
        }
    }
}

fn repeat(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let pool = &cx.world.pools[step.id as usize % 2];
    // Each job is another value, that lives no longer than its run.
    let mut network: Repeat<_> = Network::repeat(build);
    call(step, cx, &[&seen], || {
        let runs = (0..3).map(|number| {
            panic::catch_unwind(AssertUnwindSafe(|| {
                let (seen, sum) = (&seen, AtomicU64::new(0));
                let mut job = RepeatedRun {
                    step,
                    cx,
                    seen,
                    number,
                    sum,
                };
                let result = network.run(pool, &mut job).map(drop);
                one_run(step, cx, &job, result);
            }))
        });
        let runs: Vec<_> = runs.collect();
        if let Some(payload) = runs.into_iter().find_map(Result::err) {
            panic::resume_unwind(payload);
        }
        if network.runs() != 3 {
            cx.world.complain(step, "not every run was counted");
        }
    });
}

/// Sources of several iterators, that may fail, or that stand in another network.
fn sources(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, sum, begun) = (
        PartFate::default(),
        AtomicU64::new(0),
        AtomicBool::new(false),
    );
    let items = |factor: u64| {
        let (seen, begun) = (&seen, &begun);
        (0..MESSAGES).map(move |number| {
            if number == 2 && !begun.swap(true, Relaxed) {
                seen.watch_process(|| part(step, 0, cx));
            }
            number * factor
        })
    };
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 1);
    let (mut feeds, stream) = Network::new().bounded("from outside", 1);
    let fails = |number: u64| match number {
        4 => Err(std::fmt::Error),
        number => Ok(number),
    };
    match step.mode {
        0 => network.sources("several", out, [1, 2, 3].map(items)),
        1 => network.sources_unordered("several", out, [1, 2, 3].map(items)),
        2 => network.try_source("fails", out, items(1).map(fails)),
        3 => network.try_source("does not", out, items(1).map(Ok::<u64, std::fmt::Error>)),
        _ => network.source_stream("stream", out, stream),
    }
    network.sink("sink", numbers, |number: u64| {
        sum.fetch_add(number, Relaxed);
    });
    call(step, cx, &[], || {
        thread::scope(|threads| {
            if step.mode == 4 {
                threads.spawn(move || {
                    for number in 0..MESSAGES {
                        if feeds.send_blocking(number).is_err() {
                            return;
                        }
                    }
                });
                seen.watch(|| part(step, 0, cx));
            }
            if step.mode != 2 {
                if run_here(step, cx, network, false) {
                    let factor = [6, 6, 0, 1, 1][usize::from(step.mode) % 5];
                    check_sum(step, cx, &sum, factor * SUM);
                }
                return;
            }
            match network.run(&cx.world.pools[0]) {
                Err(Error::Failed { process, .. }) if process == "fails" => {}
                Err(Error::Cancelled) if cx.cancels => {}
                Err(Error::Panicked { payload, .. }) => panic::resume_unwind(payload.into_panic()),
                other => {
                    let text = format!("a source that fails came to {other:?}");
                    cx.world.complain(step, text);
                }
            }
        });
    });
}

/// A stage whose function awaits its part; the messages keep their order.
fn stage_async(step: &FeatureStep, cx: &Cx<'_>) {
    let mut came = Vec::new();
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 2);
    let (more, results) = network.bounded("results", 1);
    network.source("source", out, 0..MESSAGES);
    let width = 1 + usize::from(step.mode);
    network.stage_async(
        "stage",
        width,
        numbers,
        more,
        move |number: u64| async move {
            tasks::sequence(None, &step.parts[0], cx.clone()).await;
            tasks::pause((number % 4) as u8, &cx.world).await;
            number
        },
    );
    network.collect_into("sink", results, &mut came);
    let is_whole = call(step, cx, &[], || run_here(step, cx, network, false));
    if is_whole && !came.into_iter().eq(0..MESSAGES) {
        cx.world.complain(step, "a stage has lost the order");
    }
}

/// Two channels are zipped, or put in batches, in a group of which every port has a process.
fn zip(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, sum) = (PartFate::default(), AtomicU64::new(0));
    let mut network = Network::new();
    let add = |number: u64| {
        if number == 2 {
            seen.watch_process(|| part(step, 0, cx));
        }
        sum.fetch_add(number, Relaxed);
    };
    network.group("all", |network| {
        let (out, left) = network.bounded("left", 1);
        network.source("left", out, 0..MESSAGES);
        match step.mode {
            0 => {
                let (out, right) = network.bounded("right", 2);
                // What is longer than the other has nobody who wants the rest.
                network.source("right", out, 0..2 * MESSAGES);
                let (out, both) = network.bounded("both", 1);
                network.zip("zip", left, right, out);
                network.sink("sink", both, |(one, other)| {
                    if one != other {
                        cx.world.complain(step, "a pair of two others");
                    }
                    add(one);
                });
            }
            _ => {
                let (out, batches) = network.bounded("batches", 1);
                network.batch("batch", 2, left, out);
                network.sink("sink", batches, |batch: Vec<u64>| {
                    batch.into_iter().for_each(add);
                });
            }
        }
    });
    network.closed();
    call(step, cx, &[&seen], || {
        if run_here(step, cx, network, false) {
            check_sum(step, cx, &sum, SUM);
        }
    });
}

/// Processes in a ring pass messages on, more of them than there is room for at first.
fn ring(step: &FeatureStep, cx: &Cx<'_>) {
    const ROUNDS: u64 = 6;
    let (seen, sum) = (PartFate::default(), AtomicU64::new(0));
    let mut network = Network::new();
    let length = 1 + u64::from(step.mode);
    let (mut outs, mut ins): (Vec<_>, Vec<_>) = (0..length)
        .map(|number| network.bounded(format_args!("to {number}"), 1))
        .unzip();
    // Each process sends to the next: the first one's channel comes last.
    outs.rotate_left(1);
    let (seen_there, sum_there) = (&seen, &sum);
    for (number, (input, out)) in (0..).zip(ins.drain(..).zip(outs)) {
        network.process(
            format_args!("process {number}"),
            (input, out),
            move |(mut input, mut out): (In<u64>, Out<u64>)| async move {
                if number == 0 {
                    seen_there.watch_process(|| part(step, 0, cx));
                    for _ in 0..MESSAGES {
                        let _ = out.send(0).await;
                    }
                }
                let mut over = 0;
                while let Some(hops) = input.recv().await {
                    sum_there.fetch_add(1, Relaxed);
                    if hops + 1 < ROUNDS * length {
                        let _ = out.send(hops + 1).await;
                        continue;
                    }
                    over += 1;
                    if over == MESSAGES {
                        return;
                    }
                }
            },
        );
    }
    call(step, cx, &[&seen], || {
        if run_here(step, cx, network, false) {
            check_sum(step, cx, &sum, MESSAGES * ROUNDS * length);
        }
    });
}

/// A network that cannot run says why, and drops what it has.
fn refused(step: &FeatureStep, cx: &Cx<'_>) {
    let mut network = Network::new();
    let (ticket, ran) = (cx.world.ticket(), AtomicBool::new(false));
    let (out, numbers) = network.bounded::<u64>("numbers", 1);
    let ran_there = &ran;
    network.process("begins", (), |()| async move {
        let _ticket = ticket;
        ran_there.store(true, Relaxed);
    });
    let mut outside = None;
    match step.mode {
        0 => {
            network.closed();
            network.sink("sink", numbers, drop);
            outside = Some(out);
        }
        1 => {
            let (more, batches) = network.bounded("batches", 1);
            network.source("source", out, 0..MESSAGES);
            network.batch("empty", 0, numbers, more);
            network.sink("sink", batches, drop);
        }
        _ => {
            let (more, results) = network.bounded("results", 1);
            network.source("source", out, 0..MESSAGES);
            network.stage("none", 0, numbers, more, |number| number);
            network.sink("sink", results, drop);
        }
    }
    let pool: &Pool = &cx.world.pools[0];
    let result = call(step, cx, &[], || network.run(pool));
    if !matches!(result, Err(Error::Invalid { .. })) && !cx.cancels || ran.load(Relaxed) {
        cx.world
            .complain(step, format!("an invalid network came to {result:?}"));
    }
    // There is room for one.
    if let Some(mut out) = outside
        && (0..3).all(|number| out.try_send(number).is_ok())
    {
        cx.world
            .complain(step, "a network that was refused took messages");
    }
}
