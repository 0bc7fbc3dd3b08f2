//! Steps that are process networks: ports everywhere, networks that fail, are cancelled, or stand
//! still.

use std::future::poll_fn;
use std::panic;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::thread;

use roving_flow::{Error, In, Merge, Network, Out, Placement};

use super::checked::{MESSAGES, SUM, check_sum, pool, run_here, run_in_this_pool};
use super::feature::Feature;
use super::kept::LeftBehind;
use super::program::FeatureStep;
use super::tasks;
use super::world::{Canary, Cx, PartFate, call, part};

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::Network => network(step, cx),
        Feature::Outside => outside(step, cx),
        Feature::Merge => merge(step, cx),
        Feature::NetFail => failing(step, cx),
        Feature::NetCancel => cancelled(step, cx),
        Feature::PortPassed => port_passed(step, cx),
        Feature::PortKept => port_kept(step, cx),
        Feature::HalfPort => half_port(step, cx),
        Feature::Stage => stage(step, cx),
        Feature::RunHere => in_this_pool(step, cx),
        Feature::Deadlock => deadlock(step, cx),
        _ => {}
    }
}

/// A source, a process that does the part, and a sink.
fn network(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, sum, canary) = (PartFate::default(), AtomicU64::new(0), Canary::new());
    let mut network = Network::new();
    let capacity = [64, 1, 2][usize::from(step.mode) % 3];
    let (out, numbers) = network.bounded("numbers", capacity);
    let (more, results) = network.unbounded("results");
    network.source("source", out, 0..MESSAGES);
    let ticket = cx.world.ticket();
    let (seen_there, canary_there) = (&seen, &canary);
    network.process(
        "middle",
        (numbers, more),
        |(mut numbers, mut more): (In<u64>, Out<u64>)| async move {
            let _ticket = ticket;
            let mut body = Some(tasks::sequence(None, &step.parts[0], cx.clone()));
            while let Some(number) = numbers.recv().await {
                if let Some(mut body) = body.take() {
                    poll_fn(|context| seen_there.watch_process(|| body.as_mut().poll(context)))
                        .await;
                }
                canary_there.check(step, &cx.world);
                let _ = more.send(number).await;
            }
        },
    );
    network.sink("sink", results, |number: u64| {
        sum.fetch_add(number, Relaxed);
    });
    match step.mode {
        3 => network.placement(Placement::partitioned()),
        4 => network.placement(Placement::adaptive()),
        5 => network.accounting(true),
        _ => {}
    }
    call(step, cx, &[&seen], || {
        if run_here(step, cx, network, false) {
            check_sum(step, cx, &sum, SUM);
        }
    });
}

/// Sends from a thread outside; what was sent is counted.
fn send_all(mut out: Out<u64>, count: u64, sent: &AtomicU64) {
    for number in 0..count {
        if out.send_blocking(number).is_err() {
            return;
        }
        sent.fetch_add(number, Relaxed);
    }
}

/// A thread outside has a port of either end.
fn outside(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, sent, sum) = (PartFate::default(), AtomicU64::new(0), AtomicU64::new(0));
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 1);
    let (more, mut results) = network.bounded("results", 1);
    let seen_there = &seen;
    network.process(
        "middle",
        (numbers, more),
        |(mut numbers, mut more): (In<u64>, Out<u64>)| async move {
            seen_there.watch_process(|| part(step, 0, cx));
            let mut left = [MESSAGES, MESSAGES, 2, 1][usize::from(step.mode) % 4];
            while left > 0
                && let Some(number) = numbers.recv().await
            {
                left -= 1;
                let _ = more.send(number).await;
            }
        },
    );
    call(step, cx, &[&seen], || {
        thread::scope(|threads| {
            threads.spawn(|| send_all(out, MESSAGES, &sent));
            threads.spawn(|| {
                while let Some(number) = results.recv_blocking() {
                    sum.fetch_add(number, Relaxed);
                }
            });
            run_here(step, cx, network, false);
        });
    });
    if !cx.cancels && step.mode < 2 {
        check_sum(step, cx, &sum, SUM);
    }
}

/// A process takes from whichever input has something; some inputs are fed from outside, and the
/// network may end while that goes on.
fn merge(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, sum, sent) = (PartFate::default(), AtomicU64::new(0), AtomicU64::new(0));
    let mut network = Network::new();
    let (out, first) = network.bounded("first", 1);
    let (from_inside, second) = network.bounded("second", 2);
    let (from_outside, third) = network.bounded("third", 1);
    network.source("inside", from_inside, 0..MESSAGES);
    let (seen_there, sum_there) = (&seen, &sum);
    let limit = [100, 1, 3, 2, 100, 4][usize::from(step.mode) % 6];
    let canceller = network.canceller();
    network.process(
        "merge",
        Merge::new([first, second, third]),
        |mut merge| async move {
            seen_there.watch_process(|| part(step, 0, cx));
            let mut left = limit;
            while left > 0
                && let Some((_, number)) = merge.recv().await
            {
                left -= 1;
                sum_there.fetch_add(number, Relaxed);
            }
            if step.mode == 3 {
                canceller.cancel();
            }
        },
    );
    let cancels = step.mode == 3;
    let whole = call(step, cx, &[&seen], || {
        thread::scope(|threads| {
            threads.spawn(|| send_all(out, MESSAGES, &sent));
            threads.spawn(|| send_all(from_outside, MESSAGES, &sent));
            run_here(step, cx, network, cancels)
        })
    });
    if whole && limit == 100 {
        check_sum(step, cx, &sum, 3 * SUM);
    }
}

/// A process returns an error, or panics, while others wait.
fn failing(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let ticket = cx.world.ticket();
    let mut network = Network::new();
    let (mut out, numbers) = network.bounded("numbers", 1);
    let (never, waits) = network.bounded::<u64>("never", 1);
    let seen_there = &seen;
    network.process("waits", waits, |mut waits| async move {
        let _ticket = ticket;
        while waits.recv().await.is_some() {}
    });
    let fails = |(mut numbers, _never): (In<u64>, Out<u64>)| async move {
        let _ = numbers.recv().await;
        seen_there.watch_process(|| part(step, 0, cx));
        match step.mode {
            0 => Err(std::fmt::Error),
            1 => panic::resume_unwind(Box::new("as told")),
            _ => {
                let _ = numbers.recv().await;
                Err(std::fmt::Error)
            }
        }
    };
    network.try_process("fails", (numbers, never), fails);
    call(step, cx, &[&seen], || {
        thread::scope(|threads| {
            threads.spawn(move || {
                let _ = out.send_blocking(1);
                while step.mode == 2 && out.send_blocking(2).is_ok() {}
            });
            match network.run(pool(step, cx)) {
                Err(Error::Failed { process, .. }) if step.mode != 1 && process == "fails" => {}
                Err(Error::Cancelled) if cx.cancels => {}
                Err(Error::Panicked { payload, .. }) => match payload.into_panic() {
                    payload if step.mode == 1 && payload.is::<&str>() => {}
                    payload => panic::resume_unwind(payload),
                },
                other => {
                    let text = format!("a network that fails came to {other:?}");
                    cx.world.complain(step, text);
                }
            }
        });
    });
}

/// A network is cancelled from inside, from outside, or by who has kept the means.
fn cancelled(step: &FeatureStep, cx: &Cx<'_>) {
    let inside = &cx.cancelling();
    let mut network = Network::new();
    let (mut out, numbers) = network.bounded("numbers", 1);
    let canceller = network.canceller();
    let by_process = canceller.clone();
    network.process("takes", numbers, |mut numbers: In<u64>| async move {
        let _ = numbers.recv().await;
        part(step, 0, inside);
        if step.mode == 1 {
            by_process.cancel();
        }
        while numbers.recv().await.is_some() {}
    });
    let live = network.live();
    network.process("beside", (), |()| async move {
        tasks::pause(3, &inside.world).await;
    });
    if step.mode == 3 {
        cx.world.keep(LeftBehind::Canceller(canceller.clone()));
    }
    cx.world.keep(LeftBehind::Live(live));
    call(step, inside, &[], || {
        thread::scope(|threads| {
            threads.spawn(move || {
                for number in 0..MESSAGES {
                    if out.send_blocking(number).is_err() {
                        return;
                    }
                    if step.mode == 0 {
                        canceller.cancel();
                    }
                }
                drop(out);
                if step.mode == 2 {
                    canceller.cancel();
                }
            });
            run_here(step, cx, network, true);
        });
    });
}

/// A port is sent to another process, through a channel.
fn port_passed(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, sum) = (PartFate::default(), AtomicU64::new(0));
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 2);
    let (mut gives, takes) = network.bounded("ports", 1);
    let sum_there = &sum;
    let seen_there = &seen;
    network.source("source", out, 0..MESSAGES);
    network.process(
        "gives",
        (numbers, gives_port(&mut gives)),
        |(mut numbers, _): (In<u64>, ())| async move {
            if step.mode == 1 {
                sum_there.fetch_add(numbers.recv().await.unwrap_or(0), Relaxed);
            }
            let _ = gives.send(numbers).await;
        },
    );
    network.process("takes", takes, |mut takes: In<In<u64>>| async move {
        while let Some(mut numbers) = takes.recv().await {
            seen_there.watch_process(|| part(step, 0, cx));
            while let Some(number) = numbers.recv().await {
                sum_there.fetch_add(number, Relaxed);
            }
        }
    });
    call(step, cx, &[&seen], || {
        if run_here(step, cx, network, false) {
            check_sum(step, cx, &sum, SUM);
        }
    });
}

/// The port of the ports is captured: who holds it is not known to the network.
fn gives_port<T>(_: &mut Out<T>) {}

/// Ports outlive their network.
fn port_kept(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let mut network = Network::new();
    let (out, numbers) = network.unbounded("numbers");
    let seen_there = &seen;
    network.process("takes", numbers, |mut numbers: In<u64>| async move {
        for _ in 0..2 {
            let _ = numbers.recv().await;
        }
        seen_there.watch_process(|| part(step, 0, cx));
        match step.mode {
            0 | 1 => cx.world.keep(LeftBehind::In(numbers)),
            _ => drop(numbers),
        }
    });
    network.process("gives", out, |mut out: Out<u64>| async move {
        for number in 0..MESSAGES {
            let _ = out.send(number).await;
        }
        match step.mode {
            0 | 2 => cx.world.keep(LeftBehind::Out(out)),
            _ => drop(out),
        }
    });
    call(step, cx, &[&seen], || run_here(step, cx, network, false));
}

/// A receipt, and a dispatch, are polled once and given up.
fn half_port(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, sum) = (PartFate::default(), AtomicU64::new(0));
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 1);
    let (seen_there, sum_there) = (&seen, &sum);
    network.process("takes", numbers, |mut numbers: In<u64>| async move {
        let first = poll_fn(|context| {
            let first = Pin::new(&mut numbers.recv()).poll(context);
            Poll::Ready(match first {
                Poll::Ready(first) => first,
                Poll::Pending => None,
            })
        });
        sum_there.fetch_add(first.await.unwrap_or(0), Relaxed);
        seen_there.watch_process(|| part(step, 0, cx));
        while let Some(number) = numbers.recv().await {
            sum_there.fetch_add(number, Relaxed);
        }
    });
    network.process("gives", out, |mut out: Out<u64>| async move {
        for number in 0..MESSAGES {
            if step.mode > 0 {
                let _ = poll_fn(|context| Poll::Ready(out.poll_ready(context))).await;
            }
            if step.mode == 2 {
                tasks::pause(3, &cx.world).await;
            }
            let _ = out.send(number).await;
        }
    });
    call(step, cx, &[&seen], || {
        if run_here(step, cx, network, false) {
            check_sum(step, cx, &sum, SUM);
        }
    });
}

fn stage(step: &FeatureStep, cx: &Cx<'_>) {
    let sum = AtomicU64::new(0);
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 2);
    let (more, results) = network.bounded("results", 1);
    network.source("source", out, 0..MESSAGES);
    let each = |number: u64| {
        part(step, 0, cx);
        number
    };
    match step.mode {
        0 => network.stage("stage", 2, numbers, more, each),
        _ => network.stage_unordered("stage", 3, numbers, more, each),
    }
    network.sink("sink", results, |number: u64| {
        sum.fetch_add(number, Relaxed);
    });
    call(step, cx, &[], || {
        if run_here(step, cx, network, false) {
            check_sum(step, cx, &sum, SUM);
        }
    });
}

/// A network whose processes run in the pool that one is in.
fn in_this_pool(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, sum, canary) = (PartFate::default(), AtomicU64::new(0), Canary::new());
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 1 + usize::from(step.mode));
    network.source("source", out, 0..MESSAGES);
    let ticket = cx.world.ticket();
    let (seen_there, sum_there, canary_there) = (&seen, &sum, &canary);
    network.process("takes", numbers, |mut numbers: In<u64>| async move {
        let _ticket = ticket;
        while let Some(number) = numbers.recv().await {
            if number == 1 {
                let mut body = tasks::sequence(None, &step.parts[0], cx.clone());
                poll_fn(|context| seen_there.watch_process(|| body.as_mut().poll(context))).await;
            }
            canary_there.check(step, &cx.world);
            sum_there.fetch_add(number, Relaxed);
        }
    });
    call(step, cx, &[&seen], || {
        if run_in_this_pool(step, cx, network) {
            check_sum(step, cx, &sum, SUM);
        }
    });
}

/// Two processes wait for each other: for a message, for room in a channel that may grow, or that
/// may not.
fn deadlock(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let ticket = cx.world.ticket();
    let mut network = Network::new();
    let (out, input) = network.bounded::<u64>("there", 1);
    let (back, answer) = network.bounded::<u64>("back", 1);
    if step.mode == 2 {
        network.channel_limit(2);
    }
    let seen_there = &seen;
    network.process(
        "first",
        (out, answer),
        |(mut out, mut answer): (Out<u64>, In<u64>)| async move {
            let _ticket = ticket;
            seen_there.watch_process(|| part(step, 0, cx));
            if step.mode > 0 {
                for number in 0..MESSAGES {
                    let _ = out.send(number).await;
                }
            }
            let _ = answer.recv().await;
        },
    );
    network.process(
        "second",
        (input, back),
        |(mut input, mut back): (In<u64>, Out<u64>)| async move {
            for number in 0..[0, 2, MESSAGES][usize::from(step.mode) % 3] {
                let _ = back.send(number).await;
            }
            while input.recv().await.is_some() {}
        },
    );
    call(step, cx, &[&seen], || {
        match (step.mode, network.run(pool(step, cx))) {
            (0, Err(Error::Deadlock { .. })) | (1, Ok(_)) | (2, Err(Error::Full { .. })) => {}
            (_, Err(Error::Cancelled)) if cx.cancels => {}
            (_, Err(Error::Panicked { payload, .. })) => panic::resume_unwind(payload.into_panic()),
            (_, other) => {
                let text = format!("processes that wait for each other came to {other:?}");
                cx.world.complain(step, text);
            }
        }
    });
}
