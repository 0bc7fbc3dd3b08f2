//! Networks that are ended at any moment and resume from their checkpoints: no token is lost or
//! doubled, on any number of ranks, whatever moves meanwhile.

mod common;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use common::{Moment, Shown, directory, hash, pause, plan, watched_telling};
use roving::Pool;
use roving_dist::{Checkpoints, Mover, Network, NetworkError, World};
use roving_flow::{In, Out};

/// Longer than any of these takes.
const MOST: Duration = Duration::from_secs(600);

/// The movers of the networks that run, which say what these wait for.
static MOVERS: Mutex<Vec<Mover>> = Mutex::new(Vec::new());

/// Ends the process if it takes too long, and says what is waited for.
#[track_caller]
fn watched<R>(f: impl FnOnce() -> R) -> R {
    let tell = || {
        let movers = MOVERS.lock().unwrap();
        movers.iter().map(|mover| format!("{mover:?}\n")).collect()
    };
    watched_telling(MOST, tell, f)
}

fn pool() -> Pool {
    Pool::new(1).unwrap()
}

fn checkpoints(directory: &Path, every: Duration) -> Checkpoints {
    Checkpoints::to(directory).every(every).resume(true)
}

/// A checksum that sees the order.
fn mixed(sum: u64, number: u64) -> u64 {
    hash(sum.rotate_left(5) ^ number)
}

/// Adds processes of many kinds: a source that deals to two lines, of which the second has a
/// process that gives two tokens for one, or none; one that joins them, asks an echo, and waits for
/// the answer, all in a step; and a sink. `each` is called in every step.
fn many_kinds<'env>(
    network: &mut Network<'env>,
    tokens: u64,
    capacity: usize,
    each: impl Fn() + Clone + Send + Sync + 'env,
    into: &'env AtomicU64,
) {
    let (left_out, left) = network.bounded::<u64>("left", capacity);
    let (right_out, right) = network.unbounded::<u64>("right");
    let look = each.clone();
    network.movable(
        "source",
        (left_out, right_out),
        0,
        move |at: u64, (mut left, mut right)| {
            look();
            async move {
                if at == tokens {
                    return None;
                }
                left.send(hash(at)).await.ok()?;
                pause().await;
                right.send(at).await.ok()?;
                Some((at + 1, (left, right)))
            }
        },
    );
    let (scaled_out, scaled) = network.bounded::<u64>("scaled", 1);
    let look = each.clone();
    network.movable(
        "scale",
        (left, scaled_out),
        1,
        move |sum: u64, (mut input, mut out)| {
            look();
            async move {
                let sum = mixed(sum, input.recv().await?);
                out.send(sum).await.ok()?;
                Some((sum, (input, out)))
            }
        },
    );
    let (uneven_out, uneven) = network.bounded::<u64>("uneven", capacity);
    let look = each.clone();
    network.movable(
        "uneven",
        (right, uneven_out),
        (),
        move |(), (mut input, mut out): (In<u64>, Out<u64>)| {
            look();
            async move {
                let number = input.recv().await?;
                // None, one or two.
                for copy in 0..number % 3 {
                    out.send(number + copy).await.ok()?;
                }
                Some(((), (input, out)))
            }
        },
    );
    let lines = [scaled, uneven];
    joined(network, lines, capacity, each, into);
}

/// The second half of [`many_kinds`].
fn joined<'env>(
    network: &mut Network<'env>,
    lines: [In<u64>; 2],
    capacity: usize,
    each: impl Fn() + Clone + Send + Sync + 'env,
    into: &'env AtomicU64,
) {
    let (ask, asked) = network.bounded::<u64>("ask", 1);
    let (answer, answers) = network.bounded::<u64>("answer", 1);
    let look = each.clone();
    network.movable(
        "echo",
        (asked, answer),
        0,
        move |count: u64, (mut asked, mut answer)| {
            look();
            async move {
                answer.send(mixed(count, asked.recv().await?)).await.ok()?;
                Some((count + 1, (asked, answer)))
            }
        },
    );
    let (joined_out, joined) = network.bounded::<u64>("joined", capacity);
    let (look, ports) = (each.clone(), (lines, ask, answers, joined_out));
    network.movable(
        "join",
        ports,
        (),
        move |(), (mut inputs, mut ask, mut answers, mut out)| {
            look();
            async move {
                let first = inputs[0].recv().await?;
                // The two change places: what comes second in one step comes first in the next.
                inputs.swap(0, 1);
                ask.send(first).await.ok()?;
                out.send(answers.recv().await? ^ first).await.ok()?;
                Some(((), (inputs, ask, answers, out)))
            }
        },
    );
    network.movable("sink", joined, 0, move |sum: u64, mut joined| {
        each();
        into.store(sum, SeqCst);
        async move { Some((mixed(sum, joined.recv().await?), joined)) }
    });
}

/// Has the network come to its end in as many runs as it takes, each but the last of them cancelled
/// by the step of a random number, or later if the run before it has left nothing new: then it is
/// to leave something. The result, and how many runs have resumed.
fn to_the_end(
    directory: &Path,
    seed: u64,
    tokens: u64,
    ranks: impl Fn(u64) -> usize,
    step: impl Fn(&Mover, u64) + Sync,
) -> (u64, u32) {
    let (mut resumed, mut waits) = (0, false);
    for run in 0.. {
        let (steps, result) = (AtomicU64::new(0), AtomicU64::new(0));
        let draw = hash(seed * 1000 + run);
        let end = Moment::new(directory, 50 + draw % (tokens * 5), waits);
        resumed += u32::from(Checkpoints::to(directory).is_there());
        let delays = plan(ranks(run), draw);
        let ended = World::threads_with(&delays, |world| {
            let mut network = Network::new(&world);
            network.checkpoints(checkpoints(directory, Duration::from_millis(draw % 4)));
            let (canceller, mover) = (network.canceller(), network.mover());
            let (steps, step, end) = (&steps, &step, &end);
            MOVERS.lock().unwrap().push(mover.clone());
            let each = move || {
                step(&mover, hash(draw ^ steps.fetch_add(1, SeqCst)));
                if end.has_come() {
                    canceller.cancel();
                }
            };
            many_kinds(&mut network, tokens, 1 + seed as usize % 5, each, &result);
            network.pin("sink", 0);
            network.run(&pool()).map(drop)
        });
        MOVERS.lock().unwrap().clear();
        waits = !end.is_saved();
        match &ended[0] {
            Ok(()) => return (result.into_inner(), resumed),
            Err(NetworkError::Cancelled { .. }) => {}
            Err(error) => panic!("seed {seed}, run {run}: {error}"),
        }
    }
    unreachable!("a run comes to the end");
}

/// The result of a run that nobody ends.
fn undisturbed(tokens: u64) -> u64 {
    let result = AtomicU64::new(0);
    World::threads(1, |world| {
        let mut network = Network::new(&world);
        many_kinds(&mut network, tokens, 3, || (), &result);
        network.run(&pool()).unwrap();
    });
    result.into_inner()
}

#[test]
fn runs_that_are_ended_at_any_moment_come_to_the_same() {
    watched(|| {
        let (right, mut resumed) = (undisturbed(300), 0);
        for seed in 0..10 {
            let directory = directory("network-any-moment");
            let ranks = |run| 1 + (hash(seed ^ run << 8) % 4) as usize;
            let (result, times) = to_the_end(&directory, seed, 300, ranks, |_, _| ());
            assert_eq!(result, right, "seed {seed}");
            assert!(!Checkpoints::to(&directory).is_there());
            resumed += times;
        }
        // Else nothing would have been tested.
        assert!(resumed >= 10, "{resumed}");
    });
}

#[test]
fn moves_and_cuts_do_not_get_in_each_others_way() {
    watched(|| {
        let (right, mut resumed) = (undisturbed(300), 0);
        for seed in 100..106 {
            let directory = directory("network-moves-and-cuts");
            let step = |mover: &Mover, draw: u64| {
                if draw % 40 == 0 {
                    let names = ["source", "scale", "uneven", "echo", "join", "sink"];
                    mover.move_to(names[(draw >> 8) as usize % 6], (draw >> 16) as usize);
                }
            };
            let ranks = |run| 2 + (hash(seed ^ run << 8) % 3) as usize;
            let (result, times) = to_the_end(&directory, seed, 300, ranks, step);
            assert_eq!(result, right, "seed {seed}");
            resumed += times;
        }
        assert!(resumed >= 6, "{resumed}");
    });
}

/// A source that ends early, one of whose consumers takes a few tokens and drops its port, and goes
/// on with others.
fn leaving<'env>(
    network: &mut Network<'env>,
    each: impl Fn() + Send + Sync + 'env,
    into: &'env AtomicU64,
) {
    let (few_out, few) = network.bounded::<u64>("few", 2);
    let (many_out, many) = network.bounded::<u64>("many", 3);
    network.movable(
        "source",
        (few_out, many_out),
        0,
        async |at: u64, (mut few, mut many)| {
            if at == 200 {
                return None;
            }
            // In vain, when its consumer has enough.
            let _ = few.send(at).await;
            many.send(at).await.ok()?;
            Some((at + 1, (few, many)))
        },
    );
    let (sums_out, sums) = network.bounded::<u64>("sums", 2);
    let ports = (Some(few), many, sums_out);
    network.movable(
        "leaves",
        ports,
        0,
        async |sum: u64, (mut few, mut many, mut out)| {
            let mut sum = mixed(sum, many.recv().await?);
            if let Some(port) = &mut few {
                sum = mixed(sum, port.recv().await?);
            }
            out.send(sum).await.ok()?;
            let few = few.filter(|_| sum % 16 != 0);
            Some((sum, (few, many, out)))
        },
    );
    network.movable("sink", sums, 0, move |sum: u64, mut sums: In<u64>| {
        each();
        into.store(sum, SeqCst);
        async move { Some((mixed(sum, sums.recv().await?), sums)) }
    });
}

#[test]
fn a_consumer_that_leaves_early_is_as_gone_as_before() {
    watched(|| {
        let result = AtomicU64::new(0);
        World::threads(1, |world| {
            let mut network = Network::new(&world);
            leaving(&mut network, || (), &result);
            network.run(&pool()).unwrap();
        });
        let (right, mut resumed) = (result.into_inner(), 0);
        for seed in 0..10 {
            let directory = directory("network-leaves");
            let mut waits = false;
            for run in 0.. {
                let draw = hash(seed * 1000 + run);
                let result = AtomicU64::new(0);
                // One that is to leave a checkpoint has to have enough steps left.
                let most = if waits { 100 } else { 250 };
                let end = Moment::new(&directory, draw % most, waits);
                resumed += u32::from(Checkpoints::to(&directory).is_there());
                let ended = World::threads_with(&plan(1 + draw as usize % 3, draw), |world| {
                    let mut network = Network::new(&world);
                    network.checkpoints(checkpoints(&directory, Duration::from_millis(1)));
                    let (canceller, end) = (network.canceller(), &end);
                    let each = move || {
                        if end.has_come() {
                            canceller.cancel();
                        }
                    };
                    leaving(&mut network, each, &result);
                    network.run(&pool()).map(drop)
                });
                waits = !end.is_saved();
                match &ended[0] {
                    Ok(()) => {
                        assert_eq!(result.into_inner(), right, "seed {seed}");
                        break;
                    }
                    Err(NetworkError::Cancelled { .. }) => {}
                    Err(error) => panic!("seed {seed}, run {run}: {error}"),
                }
            }
        }
        assert!(resumed >= 5, "{resumed}");
    });
}

/// A consumer drops its port when it has been recorded, and its producer learns of that before it
/// is recorded itself: that cut is left, and the next one is made.
#[test]
fn a_consumer_that_leaves_in_the_midst_of_a_cut_delays_it_to_the_next() {
    watched(|| {
        let directory = directory("network-midst");
        let steps = AtomicU64::new(0);
        let ended = World::threads(2, |world| {
            let (steps, checkpoints) = (&steps, checkpoints(&directory, Duration::from_millis(1)));
            let mut network = Network::new(&world);
            network.checkpoints(checkpoints.clone());
            let (slow_out, slow) = network.bounded::<u64>("slow", 1);
            let (fast_out, fast) = network.bounded::<u64>("fast", 1);
            network.movable(
                "slow",
                slow_out,
                (),
                move |(), mut out: Out<u64>| async move {
                    while steps.load(SeqCst) < 10_000 {
                        pause().await;
                    }
                    // In vain, at the latest when the consumer's end has said so.
                    while out.send(1).await.is_ok() {}
                    pause().await;
                    Some(((), out))
                },
            );
            let canceller = network.canceller();
            network.movable("fast", fast_out, 0, move |at, mut out: Out<u64>| {
                // A cut before the consumer leaves is not the one that this is about.
                if steps.load(SeqCst) > 10_000 && checkpoints.is_there() {
                    canceller.cancel();
                }
                async move {
                    out.send(at).await.ok()?;
                    Some((at + 1, out))
                }
            });
            network.movable(
                "leaves",
                (Some(slow), fast),
                (),
                move |(), (slow, mut fast)| {
                    let number = steps.fetch_add(1, SeqCst);
                    async move {
                        let _: u64 = fast.recv().await?;
                        Some(((), (slow.filter(|_| number < 5000), fast)))
                    }
                },
            );
            network.pin("slow", 0);
            network.pin("leaves", 1);
            network.run(&pool()).map(drop)
        });
        assert!(
            matches!(ended[0], Err(NetworkError::Cancelled { .. })),
            "{:?}",
            ended[0]
        );
        assert!(steps.into_inner() > 5000, "nobody has left");
    });
}

/// Runs a source and a sink of so many tokens by two ranks, each step of the source after that
/// long; from the token of that number on, the source cancels it if there is a checkpoint. The
/// error of rank 0.
fn counted(checkpoints: Checkpoints, tokens: u64, cancel_at: u64, pause_ms: u64) -> Option<String> {
    let errors = World::threads(2, |world| {
        let mut network = Network::new(&world);
        network.checkpoints(checkpoints.clone());
        let (out, input) = network.bounded::<u64>("numbers", 1);
        let (canceller, checkpoints) = (network.canceller(), checkpoints.clone());
        network.movable("source", out, 0, move |at, mut out: Out<u64>| {
            std::thread::sleep(Duration::from_millis(pause_ms));
            if at >= cancel_at && checkpoints.is_there() {
                canceller.cancel();
            }
            async move {
                out.send((at < tokens).then_some(at)?).await.ok()?;
                Some((at + 1, out))
            }
        });
        network.movable("sink", input, 0, async |sum: u64, mut input: In<u64>| {
            Some((sum + input.recv().await?, input))
        });
        network.pin("sink", 1);
        network.run(&pool()).err().map(|error| error.to_string())
    });
    errors[0].clone()
}

#[test]
fn what_is_damaged_or_anothers_is_refused_by_name() {
    watched(|| {
        let directory = directory("network-damaged");
        let named = |words: &str| checkpoints(&directory, Duration::from_millis(1)).program(words);
        let error = counted(named("a"), u64::MAX, 60, 1).unwrap();
        assert_eq!(error, "the network was cancelled on rank 0");
        assert!(named("a").is_there());

        let error = counted(named("b"), 1000, 60, 1).unwrap();
        assert!(error.contains("latest` is of another program"), "{error}");
        assert!(
            error.contains("of `a` with a network of 2 processes"),
            "{error}"
        );
        let result = AtomicU64::new(0);
        let ended = World::threads(2, |world| {
            let mut network = Network::new(&world);
            network.checkpoints(named("a"));
            leaving(&mut network, || (), &result);
            network.run(&pool()).map(drop)
        });
        let error = ended[0].clone().unwrap_err().to_string();
        assert!(error.contains("another program"), "{error}");

        let cut = std::fs::read_dir(&directory).unwrap().flatten();
        let cut = cut.map(|entry| entry.path()).filter(|path| path.is_dir());
        let parts = cut
            .map(|cut| cut.join("rank-1"))
            .filter(|path| path.exists());
        for part in parts {
            let mut bytes = std::fs::read(&part).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
            std::fs::write(&part, bytes).unwrap();
        }
        let error = counted(named("a"), 1000, u64::MAX, 0).unwrap();
        assert!(error.contains("rank-1` is damaged"), "{error}");
        // Anew, in the same directory.
        assert_eq!(counted(named("a").resume(false), 100, u64::MAX, 0), None);
        assert!(!named("a").is_there());
    });
}

#[test]
fn networks_that_cannot_be_checkpointed_say_why() {
    watched(|| {
        let directory = directory("network-cannot");
        let checkpoints = || checkpoints(&directory, Duration::from_millis(1));
        let fixed = World::threads(2, |world| {
            let mut network = Network::new(&world);
            network.checkpoints(checkpoints());
            let (out, input) = network.channel("numbers");
            network.movable("counts", input, (), async |(), mut input: In<u64>| {
                input.recv().await.map(|_| ((), input))
            });
            network.source("fixed", out, 0..10_u64);
            network.run(&pool()).unwrap_err().to_string()
        });
        let text = "process `fixed` cannot be checkpointed: make it by steps, with `Network::movable`, or \
                    leave the checkpoints out";
        assert!(fixed[0].contains(text), "{}", fixed[0]);
        let late = World::threads(1, |world| {
            let mut network = Network::new(&world);
            network.movable("early", (), (), async |(), ()| None);
            network.checkpoints(checkpoints());
            network.run(&pool()).unwrap_err().to_string()
        });
        assert!(late[0].contains("say where they go before"), "{}", late[0]);
        let ranks = World::threads(2, |world| {
            let mut network = Network::new(&world);
            if world.rank() == 1 {
                network.checkpoints(checkpoints());
            }
            network.movable("alone", (), (), async |(), ()| None);
            network.run(&pool()).unwrap_err().to_string()
        });
        assert!(
            ranks[0].contains("rank 1 has built another network"),
            "{}",
            ranks[0]
        );
        let races = World::threads(2, |world| {
            let mut network = Network::new(&world);
            network.checkpoints(checkpoints());
            let (out, input) = network.channel("numbers");
            network.movable("source", out, 0, async |at: u64, mut out: Out<u64>| {
                out.send(at).await.ok()?;
                Some((at + 1, out))
            });
            network.movable("races", input, (), async |(), mut input: In<u64>| {
                let _ = input.try_recv();
                pause().await;
                Some(((), input))
            });
            network.run(&pool()).unwrap_err().to_string()
        });
        assert!(
            races[0].contains("asks which of two was faster"),
            "{}",
            races[0]
        );
    });
}

/// A process is recorded, and its rank's part is on the disk, when it asks who is faster. Another
/// one learns the answer by a token or by the end of the stream, in a step that its record waits
/// for. The run's error.
fn raced(directory: &Path, ends: bool) -> String {
    let latest = || std::fs::read(directory.join("latest")).unwrap_or_default();
    let (learns, before) = (AtomicBool::new(false), Mutex::new(None));
    let errors = World::threads(2, |world| {
        let (learns, before) = (&learns, &before);
        let mut network = Network::new(&world);
        network.checkpoints(checkpoints(directory, Duration::from_millis(1)));
        let (out, input) = network.channel::<u64>("numbers");
        let (answers_out, answers) = network.channel("answers");
        network.movable("silent", out, (), async |(), out: Out<u64>| {
            pause().await;
            Some(((), out))
        });
        let ports = (input, Some(answers_out));
        network.movable("races", ports, (), async |(), (mut input, mut out)| {
            if out.is_some() && learns.load(SeqCst) && Shown::is_next_begun(directory) {
                *before.lock().unwrap() = Some(latest());
                let is_fast = input.try_recv().is_ok();
                match &mut out {
                    Some(out) if !ends => Out::send(out, is_fast).await.ok()?,
                    _ => out = None,
                }
            }
            pause().await;
            Some(((), (input, out)))
        });
        let state = Shown::new(0);
        network.movable(
            "learns",
            answers,
            state,
            async |Shown(count), mut answers| {
                learns.store(true, SeqCst);
                let _answer_or_end: Option<bool> = answers.recv().await;
                pause().await;
                Some((Shown(count + 1), answers))
            },
        );
        network.pin("races", 0);
        network.pin("learns", 1);
        network.run(&pool()).unwrap_err().to_string()
    });
    let before = before.into_inner().unwrap();
    assert_eq!(before, Some(latest()), "the checkpoint counts");
    errors[0].clone()
}

#[test]
fn an_answer_that_follows_from_who_is_faster_is_in_no_checkpoint() {
    watched(|| {
        for ends in [false, true] {
            let error = raced(&directory("network-faster"), ends);
            assert!(error.contains("asks which of two was faster"), "{error}");
        }
    });
}
