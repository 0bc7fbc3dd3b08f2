//! Steps with a limit on their time: deadlines that tasks wait for, and waits at ports that are
//! given up. Nothing is over before its time, and nothing is lost when it is over.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use roving::{Cancel, CancelledError, context};
use roving_flow::{In, Network, Out, TryRecvError, TrySendError};

use super::checked::{MESSAGES, SUM, check_sum, run_here};
use super::kept::{Deaf, LeftBehind};
use super::program::FeatureStep;
use super::tasks;
use super::world::{Cx, PartFate, call, part};

/// Longer than any program.
const NEVER: Duration = Duration::from_secs(100_000);
/// Deadlines that stand beside each other.
const DEADLINES: u64 = 12;

fn soon(step: &FeatureStep) -> Duration {
    Duration::from_micros(u64::from(step.id % 5) * 30)
}

/// Waits for a deadline, and says so if it was over before its time.
async fn over(step: &FeatureStep, cx: &Cx<'_>, cancel: &Cancel) {
    cancel.cancelled().await;
    let is_early = cancel.deadline().is_none_or(|time| Instant::now() < time);
    if is_early || !cancel.is_cancelled() {
        cx.world
            .complain(step, "a deadline was over before its time");
    }
}

/// A task waits for deadlines: to the end, or no longer.
pub(super) async fn awaited(step: &FeatureStep, cx: &Cx<'_>) {
    match step.mode {
        0 => over(step, cx, &Cancel::after(soon(step))).await,
        1 => {
            let parent = Cancel::after(NEVER);
            let child = parent.child_at(Instant::now() + soon(step));
            over(step, cx, &child).await;
            if parent.is_cancelled() {
                cx.world.complain(step, "a child cancelled its parent");
            }
        }
        2 => {
            // As many as the timer has to sort; every other one is given up before.
            let start = Instant::now();
            let at = |number| start + Duration::from_micros((number * 7 % DEADLINES) * 20);
            let all: Vec<Cancel> = (0..DEADLINES)
                .map(|number| Cancel::at(at(number)))
                .collect();
            for (number, cancel) in all.iter().enumerate() {
                match number % 2 {
                    0 => over(step, cx, cancel).await,
                    _ => given_up(cx, cancel).await,
                }
            }
        }
        3 => {
            // Whoever is faster.
            let cancel = Cancel::after(soon(step));
            let there = cancel.clone();
            cx.world.elsewhere(move || there.cancel());
            cancel.cancelled().await;
            if !cancel.is_cancelled() {
                cx.world
                    .complain(step, "it was woken, and is not cancelled");
            }
        }
        4 => {
            let cancel = Cancel::after(soon(step));
            cx.world
                .keep(LeftBehind::Until(Box::pin(cancel.cancelled())));
            cx.world.keep(LeftBehind::Cancel(cancel.child()));
        }
        _ => limited(step, cx),
    }
}

/// Waits once, and leaves the rest to another thread, which drops it while the time ends.
async fn given_up(cx: &Cx<'_>, cancel: &Cancel) {
    let mut until = Box::pin(cancel.cancelled());
    let _ = poll_fn(|context| Poll::Ready(until.as_mut().poll(context))).await;
    cx.world.elsewhere(move || drop(until));
}

/// The part of a task that has so much time, or waits for what never comes; and a job that nobody
/// may have begun by then.
fn limited(step: &FeatureStep, cx: &Cx<'_>) {
    let inside = cx.cancelling();
    let later = cx.world.later();
    let result = call(step, cx, &[], || {
        Cancel::after(soon(step)).run(|| {
            let job = roving::spawn(move || drop(later));
            let all = async {
                tasks::sequence(None, &step.parts[0], inside.clone()).await;
                let _ = job.await;
                std::future::pending::<()>().await;
            };
            roving::task::block_on(context::until_cancelled(all))
        })
    });
    let by_another = cx.cancels && matches!(result, Ok(Err(CancelledError)));
    if result != Err(CancelledError) && !by_another {
        let text = format!("what never ends came to {result:?} at its deadline");
        cx.world.complain(step, text);
    }
}

/// The counts of a channel whose two ends give up waiting.
#[derive(Default)]
struct ChannelCounts {
    sent: AtomicU64,
    received: AtomicU64,
}

impl ChannelCounts {
    /// Receives until the channel is closed.
    async fn receive(&self, input: &mut In<u64>, time: Duration) {
        loop {
            match input.recv_timeout(time).await {
                Ok(number) => {
                    self.received.fetch_add(number, Relaxed);
                }
                Err(TryRecvError::Empty) => {}
                Err(_) => return,
            }
        }
    }

    fn sent(&self, number: u64) {
        self.sent.fetch_add(number, Relaxed);
    }
}

/// Sends a message, however often there is no room in that time; false if nobody wants it.
async fn send(out: &mut Out<u64>, mut number: u64, time: Duration) -> bool {
    loop {
        match out.send_timeout(number, time).await {
            Ok(()) => return true,
            Err(TrySendError::Full(back)) => number = back,
            Err(TrySendError::Closed(_)) => return false,
        }
    }
}

/// Sends all from a thread outside.
fn send_outside(mut out: Out<u64>, time: Duration, counts: &ChannelCounts) {
    for number in 0..MESSAGES {
        loop {
            match out.send_timeout_blocking(number, time) {
                Ok(()) => break counts.sent(number),
                Err(TrySendError::Full(_)) => {}
                Err(TrySendError::Closed(_)) => return,
            }
        }
    }
}

/// Sends a message from outside, perhaps before there is anybody: there is room for one.
fn send_first(step: &FeatureStep, cx: &Cx<'_>, out: &mut Out<u64>) {
    if let Err(TrySendError::Full(_)) = out.send_timeout_blocking(0, NEVER) {
        cx.world.complain(step, "a wait was over before its time");
    }
}

/// Both ends of a channel wait for so long and no longer, again and again: each message comes once.
pub(super) fn ports(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, counts) = (PartFate::default(), ChannelCounts::default());
    let time = soon(step);
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 1);
    let (seen_there, counts_there) = (&seen, &counts);
    network.process("takes", numbers, |mut numbers: In<u64>| async move {
        if step.mode % 2 == 1 {
            // Polled once, and given up.
            let waker = Waker::from(Arc::new(Deaf));
            let mut receiving = Box::pin(numbers.recv_timeout(time));
            let first = receiving.as_mut().poll(&mut Context::from_waker(&waker));
            if let Poll::Ready(Ok(number)) = first {
                counts_there.received.fetch_add(number, Relaxed);
            }
        }
        seen_there.watch_process(|| part(step, 0, cx));
        counts_there.receive(&mut numbers, time).await;
    });
    let outside = match step.mode {
        0 | 1 => {
            network.process("gives", out, |mut out: Out<u64>| async move {
                for number in 0..MESSAGES {
                    let is_half = step.mode == 1 && number == 2;
                    if is_half {
                        half_sent(&mut out, number, counts_there);
                    }
                    if !is_half && send(&mut out, number, time).await {
                        counts_there.sent(number);
                    }
                }
            });
            None
        }
        // It waits for what the first never sends: time lets it go on, so it is no deadlock.
        2 => {
            let (back, mut answer) = network.bounded::<u64>("back", 1);
            network.process("gives", (out, back), |(mut out, back)| async move {
                for number in 0..MESSAGES {
                    if send(&mut out, number, time).await {
                        counts_there.sent(number);
                    }
                }
                drop(back);
            });
            network.process("waits", (), |()| async move {
                while answer.recv_timeout(time).await != Err(TryRecvError::Closed) {}
            });
            None
        }
        _ => Some(out),
    };
    call(step, cx, &[&seen], || {
        thread::scope(|threads| {
            if let Some(mut out) = outside {
                threads.spawn(move || {
                    if step.mode == 4 {
                        send_first(step, cx, &mut out);
                    }
                    send_outside(out, time, counts_there);
                });
            }
            if run_here(step, cx, network, false) {
                let sent = counts.sent.load(Relaxed);
                check_sum(step, cx, &counts.received, sent);
                if sent != SUM && step.mode != 1 {
                    cx.world.complain(step, format!("{sent} was sent"));
                }
            }
        });
    });
}

/// A dispatch is polled once by nobody, and given up: the message is in the channel, or gone.
fn half_sent(out: &mut Out<u64>, number: u64, counts: &ChannelCounts) {
    let waker = Waker::from(Arc::new(Deaf));
    let mut sending = Box::pin(out.send_timeout(number, NEVER));
    let polled = Pin::new(&mut sending).poll(&mut Context::from_waker(&waker));
    if matches!(polled, Poll::Ready(Ok(()))) {
        counts.sent(number);
    }
}
