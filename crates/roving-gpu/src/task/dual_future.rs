//! The future of a task with two sides.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::dual::Dual;
use super::sides::Sides;
use super::sides::sealed::Sealed;
use super::uses::Uses;
use super::uses::sealed::UseList;
use crate::devices::Devices;

/// A future that runs a task on the side where it is expected to end first; its output is `R`. Made
/// by [`Dual::on`].
///
/// Without a device this is the CPU side and one branch: nothing is allocated. Dropping it early is
/// harmless: what it has on a device ends there, and what that would have written may or may not be
/// written.
///
/// ```
/// use roving_gpu::{Devices, Dual, Kind};
///
/// static ANSWER: Kind = Kind::new("answer");
/// let devices = Devices::none();
/// let on = Dual::new(&ANSWER, &[1]).cpu(|| 42).on(&devices);
/// assert_eq!(roving::task::block_on(on), 42);
/// ```
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct On<'a, const N: usize, U, C, G, R> {
    devices: &'a Devices,
    state: OnProgress<'a, N, U, C, G, R>,
}

/// `R` is a parameter, not the output of the sides: whether an async block that holds this is
/// `Send` is asked for all lifetimes at once, and what the sides are is known for one only.
enum OnProgress<'a, const N: usize, U, C, G, R> {
    New(Dual<N, U, C, G>),
    /// There are devices.
    Running(Running<'a, R>),
    Over,
}

type Running<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;

impl<'a, const N: usize, U, C, G, R> On<'a, N, U, C, G, R> {
    #[inline(always)]
    pub(crate) fn new(dual: Dual<N, U, C, G>, devices: &'a Devices) -> Self {
        On {
            devices,
            state: OnProgress::New(dual),
        }
    }
}

/// Nothing in it is pinned but behind a pointer.
impl<const N: usize, U, C, G, R> Unpin for On<'_, N, U, C, G, R> {}

impl<'a, const N: usize, U, C, G, R> Future for On<'a, N, U, C, G, R>
where
    (C, G): Sides<'a, Output = R>,
    U: Uses + 'a,
{
    type Output = R;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let this = self.get_mut();
        if let OnProgress::New(_) = this.state {
            if let OnProgress::New(dual) = std::mem::replace(&mut this.state, OnProgress::Over) {
                if dual.is_settled(this.devices) {
                    let output = (dual.cpu, dual.gpu).without_device(dual.about.kind);
                    return Poll::Ready(output);
                }
                this.state = OnProgress::Running(start(dual, this.devices, false));
            }
        }
        let OnProgress::Running(running) = &mut this.state else {
            panic!("polled after it has ended");
        };
        let poll = running.as_mut().poll(context);
        if poll.is_ready() {
            this.state = OnProgress::Over;
        }
        poll
    }
}

impl<const N: usize, U, C, G> Dual<N, U, C, G> {
    /// Returns the task as a future. Its output is the result of the side that runs; without a CPU
    /// side, a `Result` of that.
    ///
    /// ```
    /// use roving::task::{block_on, fork};
    /// use roving_gpu::{Devices, Dual, Kind};
    ///
    /// static SUM: Kind = Kind::new("sum");
    /// let devices = Devices::none();
    /// let sum = block_on(async {
    ///     let devices = devices.clone();
    ///     let sum = fork(async move {
    ///         let task = Dual::new(&SUM, &[4]).cpu(|| (1..=4).sum::<u32>());
    ///         task.on(&devices).await
    ///     });
    ///     sum.await.await
    /// });
    /// assert_eq!(sum, 10);
    /// ```
    ///
    /// A task with neither side does not compile:
    ///
    /// ```compile_fail,E0277
    /// use roving_gpu::{Devices, Dual, Kind};
    ///
    /// static NOTHING: Kind = Kind::new("nothing");
    /// let _ = Dual::new(&NOTHING, &[1]).on(&Devices::none());
    /// ```
    ///
    /// # Panics
    /// When it is polled: if its side panics; or if the only valid copy of a buffer was on a device
    /// that was lost ([`crate::Writes::Back`]).
    #[inline(always)]
    pub fn on<'a>(self, devices: &'a Devices) -> On<'a, N, U, C, G, <(C, G) as Sides<'a>>::Output>
    where
        (C, G): Sides<'a>,
        U: Uses + 'a,
    {
        On::new(self, devices)
    }

    /// Runs the task and returns when it has ended. On a worker this waits as a root does: the
    /// worker gives its core away meanwhile. On other threads the global pool runs it.
    ///
    /// # Panics
    /// As [`Dual::on`].
    ///
    /// ```
    /// use roving_gpu::{Devices, Dual, Kind};
    ///
    /// static STEP: Kind = Kind::new("step");
    /// let steps: Vec<u32> = roving::map_reduce(
    ///     0..4,
    ///     Vec::new(),
    ///     |n| vec![Dual::new(&STEP, &[1]).cpu(|| n as u32 * 10).run(&Devices::none())],
    ///     |a, b| [a, b].concat(),
    /// );
    /// assert_eq!(steps, [0, 10, 20, 30]);
    /// ```
    #[inline]
    pub fn run<'a>(self, devices: &'a Devices) -> <(C, G) as Sides<'a>>::Output
    where
        (C, G): Sides<'a>,
        U: Uses + 'a,
        C: Send,
        G: Send,
    {
        if self.is_settled(devices) {
            return (self.cpu, self.gpu).without_device(self.about.kind);
        }
        roving::task::block_on(start(self, devices, true))
    }
}

/// Starts a task where there are devices. `blocks` says whether a worker is blocked while it runs.
#[cold]
fn start<'a, const N: usize, U, C, G>(
    dual: Dual<N, U, C, G>,
    devices: &'a Devices,
    blocks: bool,
) -> Running<'a, <(C, G) as Sides<'a>>::Output>
where
    (C, G): Sides<'a>,
    U: Uses + 'a,
{
    let mut uses = UseList::default();
    dual.uses.collect(&mut uses);
    uses.0.sort_by_key(|one| one.content.id());
    let (kind, work) = (dual.about.kind, dual.about.work());
    let parts = (dual.cpu, dual.gpu).into_parts();
    let driven = super::drive::drive(devices, kind, work, uses.0, parts, blocks);
    Box::pin(async move { <(C, G) as Sealed<'a>>::output(driven.await) })
}

impl<const N: usize, U, C, G, R> fmt::Debug for On<'_, N, U, C, G, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("On").finish_non_exhaustive()
    }
}
