//! Programs on a pool: the parts that are async tasks.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::thread;

use roving::Cancel;
use roving::task::{Forked, Scope, Task};

use super::contexts;
use super::node::*;
use super::parallel::{PartContext, node, throw};
use super::serial::NO_MESSAGE;
use crate::census::Census;
use crate::random::{mix, mix2};

/// The first task of a root.
pub(crate) fn root<'s>(
    s: Scope<'s>,
    task: &'s TaskNode,
    cx: PartContext<'s>,
) -> impl Task<u64> + 's {
    cx.census.ran(1);
    self::task(s, task, cx)
}

fn task<'s>(s: Scope<'s>, task: &'s TaskNode, cx: PartContext<'s>) -> impl Task<u64> + 's {
    let argument = cx.census.one();
    async move {
        let _argument = argument;
        match task {
            TaskNode::Tree(tree) => self::tree(s, tree, cx).await,
            TaskNode::Fib { depth, seed, how } => {
                cx.census.ran((1 << (depth + 1)) - 2);
                s.call(fib(s, *seed, *depth, 0, *how)).await
            }
            TaskNode::Loop {
                tasks,
                held,
                seed,
                how,
            } => many(s, *tasks, *held as usize, *seed, *how, cx.census).await,
        }
    }
}

async fn tree<'s>(s: Scope<'s>, tree: &'s TaskTree, cx: PartContext<'s>) -> u64 {
    let local = cx.census.one();
    pause(tree.pause).await;
    let mut value = mix(tree.value) ^ contexts::seen();
    if let Some(inner) = &tree.inner {
        value = value.wrapping_add(node(inner, cx));
    }
    let mut held: Vec<(u64, Forked<u64>)> = Vec::new();
    for (index, child) in tree.children.iter().enumerate() {
        let index = index as u64;
        if let Some(known) = start(s, child, cx, index, &mut held).await {
            value = value.wrapping_add(mix2(known, index));
        }
    }
    if let Some(id) = tree.throw {
        throw(id, cx.census);
    }
    for (index, handle) in held {
        value = value.wrapping_add(mix2(handle.await, index));
    }
    drop(local);
    value
}

/// Makes a child, and does with its handle what is to be done at once. Returns what is known by
/// then.
async fn start<'s>(
    s: Scope<'s>,
    child: &'s Child,
    cx: PartContext<'s>,
    index: u64,
    held: &mut Vec<(u64, Forked<u64>)>,
) -> Option<u64> {
    let (sender, message) = channel();
    let sender = (child.how != How::Call && child.fate == Fate::Message).then_some(sender);
    let of_child = async move {
        cx.census.ran(1);
        let value = task(s, &child.node, cx).await;
        if let Some(sender) = &sender {
            sender.send(Some(value));
        }
        value
    };
    let handle = match child.how {
        How::Fork => s.fork(of_child).await,
        How::Spawn => match child.own_tag() {
            None => s.spawn(of_child),
            Some(tag) => contexts::tagged(tag, || s.spawn(of_child)),
        },
        How::Branch => s.branch(of_child).await,
        How::Call => return Some(s.call(of_child).await),
    };
    match child.fate {
        Fate::AwaitedAtOnce => return Some(handle.await),
        Fate::AwaitedAtTheEnd => held.push((index, handle)),
        Fate::Dropped => drop(handle),
        Fate::Message => {
            drop(handle);
            return Some(message.receive().await.unwrap_or(NO_MESSAGE));
        }
        Fate::PassedOn => {
            let owned = cx.census.one();
            let other = s.spawn(async move {
                let _owned = owned;
                cx.census.ran(1);
                handle.await
            });
            held.push((index, other));
        }
    }
    None
}

fn fib<'s>(s: Scope<'s>, seed: u64, depth: u32, from: u64, how: How) -> impl Task<u64> + 's {
    async move {
        let Some(below) = depth.checked_sub(1) else {
            return leaf_value(seed, from);
        };
        let middle = from + (1 << below);
        let first = fib(s, seed, below, from, how);
        let first = match how {
            How::Fork => s.fork(first).await,
            How::Spawn => s.spawn(first),
            How::Branch => s.branch(first).await,
            How::Call => {
                let first = s.call(first).await;
                let second = s.call(fib(s, seed, below, middle, how)).await;
                return first.wrapping_add(second);
            }
        };
        let second = s.call(fib(s, seed, below, middle, how)).await;
        first.await.wrapping_add(second)
    }
}

async fn many<'s>(
    s: Scope<'s>,
    tasks: u32,
    held: usize,
    seed: u64,
    how: How,
    census: &'static Census,
) -> u64 {
    let (mut sum, mut handles) = (0_u64, VecDeque::new());
    for index in 0..u64::from(tasks) {
        let owned = census.one();
        let child = async move {
            let _owned = owned;
            census.ran(1);
            leaf_value(seed, index)
        };
        handles.push_back(match how {
            How::Fork => s.fork(child).await,
            How::Spawn => s.spawn(child),
            How::Branch => s.branch(child).await,
            How::Call => {
                sum = sum.wrapping_add(s.call(child).await);
                continue;
            }
        });
        if handles.len() >= held
            && let Some(oldest) = handles.pop_front()
        {
            sum = sum.wrapping_add(oldest.await);
        }
    }
    for handle in handles {
        sum = sum.wrapping_add(handle.await);
    }
    sum
}

async fn pause(how: Pause) {
    let mut left = u32::from(how != Pause::None);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        match how {
            Pause::None => {}
            Pause::ByRef => context.waker().wake_by_ref(),
            Pause::Own => {
                let own = context.waker().clone();
                own.wake();
            }
            Pause::Foreign => wake_from_outside(context.waker().clone()),
        }
        Poll::Pending
    })
    .await;
}

enum OutsideOrder {
    Wake(Waker),
    Cancel(Cancel),
    Say(Sender<()>),
}

/// A thread that wakes tasks, and is no worker.
fn outside() -> Sender<OutsideOrder> {
    static OUTSIDE: OnceLock<Mutex<Sender<OutsideOrder>>> = OnceLock::new();
    let outside = OUTSIDE.get_or_init(|| {
        let (sender, orders) = mpsc::channel();
        // It waits for orders to the end of the process.
        thread::spawn(move || {
            for order in orders {
                match order {
                    OutsideOrder::Wake(waker) => waker.wake(),
                    OutsideOrder::Cancel(request) => request.cancel(),
                    OutsideOrder::Say(to) => drop(to.send(())),
                }
            }
        });
        Mutex::new(sender)
    });
    outside
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

fn wake_from_outside(waker: Waker) {
    // It is there to the end; otherwise the waker comes back and is dropped, and the dog barks.
    let _ = outside().send(OutsideOrder::Wake(waker));
}

/// Cancels some time soon.
pub(crate) fn cancel_from_outside(request: Cancel) {
    let _ = outside().send(OutsideOrder::Cancel(request));
}

/// Returns when the thread outside has let go of all wakers that it had.
pub(crate) fn settle_outside() {
    let (sender, said) = mpsc::channel();
    let _ = outside().send(OutsideOrder::Say(sender));
    let _ = said.recv();
}

#[derive(Default)]
struct Mailbox {
    /// The sender is gone, or has sent.
    closed: bool,
    value: Option<u64>,
    waker: Option<Waker>,
}

struct MessageOut(Arc<Mutex<Mailbox>>);
struct MessageIn(Arc<Mutex<Mailbox>>);

/// For one value from one task to another, by a lock and a waker as other people's channels have.
fn channel() -> (MessageOut, MessageIn) {
    let mailbox = Arc::default();
    (MessageOut(Arc::clone(&mailbox)), MessageIn(mailbox))
}

impl MessageOut {
    fn send(&self, value: Option<u64>) {
        let waker = {
            let mut mailbox = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !mailbox.closed {
                (mailbox.closed, mailbox.value) = (true, value);
            }
            mailbox.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for MessageOut {
    fn drop(&mut self) {
        self.send(None);
    }
}

impl MessageIn {
    async fn receive(self) -> Option<u64> {
        poll_fn(|context| {
            let mut mailbox = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if mailbox.closed {
                return Poll::Ready(mailbox.value);
            }
            mailbox.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}
