//! Taking from whichever of several channels has something.

use std::fmt;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::ports::{In, Out};
use super::sets::Ports;
use super::sets::sealed::{Sealed, Visitor};
use crate::channel::words::{ChannelEnd, Words};
use crate::process::poll::ProcessTurn;

/// Several inputs from which a process takes the next message of any.
///
/// # Not deterministic
///
/// Which message comes first depends on who is faster. A network without `Merge`, without
/// [`In::try_recv`] and [`Out::try_send`], and without other means by which processes see who is
/// faster, computes the same in each run, on any number of workers: that is Kahn's theorem. Where
/// the order of the inputs is known, receive in that order instead.
///
/// Several inputs of different types can be waited for with `select!` of `futures-util`:
/// [`In::recv`] loses nothing when it is dropped. It is not deterministic either.
///
/// ```
/// use roving_flow::{Merge, Network};
///
/// let mut got = Vec::new();
/// let mut network = Network::new();
/// let mut inputs = Vec::new();
/// for source in 0..3_u32 {
///     let (out, input) = network.channel(format_args!("from {source}"));
///     network.source(format_args!("source {source}"), out, source * 10..source * 10 + 10);
///     inputs.push(input);
/// }
/// let into = &mut got;
/// network.process("merge", Merge::new(inputs), |mut merge| async move {
///     while let Some((_, number)) = merge.recv().await {
///         into.push(number);
///     }
/// });
/// network.run(&roving::Pool::new(2).unwrap()).unwrap();
/// got.sort();
/// assert!(got.into_iter().eq(0..30));
/// ```
pub struct Merge<T> {
    ports: Vec<Option<In<T>>>,
    /// Where to look first: after the one that had something last.
    next: usize,
}

impl<T> Merge<T> {
    /// Merges these inputs, which keep their places for [`Self::recv`].
    ///
    /// ```
    /// use roving_flow::{Merge, Network};
    ///
    /// let mut network = Network::new();
    /// let (one, other) = (network.channel::<u32>("one").1, network.channel("other").1);
    /// network.process("merge", Merge::new([one, other]), async |mut merge| {
    ///     assert_eq!(merge.recv().await, None); // nobody sends
    /// });
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    pub fn new(ports: impl IntoIterator<Item = In<T>>) -> Merge<T> {
        Merge {
            ports: ports.into_iter().map(Some).collect(),
            next: 0,
        }
    }

    /// Receives the next message with the place of its input, or `None` when all inputs have ended.
    ///
    /// Inputs that always have something take turns.
    ///
    /// ```
    /// use roving_flow::{Merge, Network};
    ///
    /// let mut network = Network::new();
    /// let (_, silent) = network.channel("silent");
    /// let (out, letters) = network.channel("letters");
    /// network.source("source", out, ["a"]);
    /// network.process("merge", Merge::new([silent, letters]), async |mut merge| {
    ///     assert_eq!(merge.recv().await, Some((1, "a")));
    ///     assert_eq!(merge.recv().await, None);
    /// });
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    pub async fn recv(&mut self) -> Option<(usize, T)> {
        std::future::poll_fn(|context| self.poll_recv(context)).await
    }

    fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, T)>> {
        ProcessTurn::waits_for_all(|| self.poll_each(context))
    }

    fn poll_each(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, T)>> {
        let count = self.ports.len();
        let mut is_over = true;
        for step in 0..count {
            let place = (self.next + step) % count;
            let Some(port) = &mut self.ports[place] else {
                continue;
            };
            port.words().shared().is_no_kahn_network();
            match port.poll_recv(context) {
                Poll::Ready(Some(message)) => {
                    // The process waits at those before no more.
                    for step in 0..step {
                        let before = &self.ports[(self.next + step) % count];
                        forget(before.as_ref().map(In::words), ChannelEnd::Reader);
                    }
                    self.next = place + 1;
                    return Poll::Ready(Some((place, message)));
                }
                Poll::Ready(None) => self.ports[place] = None,
                Poll::Pending => is_over = false,
            }
        }
        match is_over {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }
}

/// The place of an output with room. `None` when all are closed. The next look begins after it.
pub(crate) async fn ready<T>(outs: &mut [Option<Out<T>>], next: &mut usize) -> Option<usize> {
    std::future::poll_fn(|context| ProcessTurn::waits_for_all(|| poll_room(outs, next, context)))
        .await
}

fn poll_room<T>(
    outs: &mut [Option<Out<T>>],
    next: &mut usize,
    context: &mut Context<'_>,
) -> Poll<Option<usize>> {
    let count = outs.len();
    let mut is_over = true;
    for step in 0..count {
        let place = (*next + step) % count;
        let Some(out) = &mut outs[place] else {
            continue;
        };
        match out.poll_ready(context) {
            Poll::Ready(Ok(())) => {
                for step in 0..step {
                    let before = &outs[(*next + step) % count];
                    forget(before.as_ref().map(Out::words), ChannelEnd::Writer);
                }
                *next = place + 1;
                return Poll::Ready(Some(place));
            }
            Poll::Ready(Err(_)) => outs[place] = None,
            Poll::Pending => is_over = false,
        }
    }
    match is_over {
        true => Poll::Ready(None),
        false => Poll::Pending,
    }
}

fn forget(words: Option<&Words>, end: ChannelEnd) {
    if let Some(words) = words {
        ProcessTurn::forget(words, end);
    }
}

impl<T> Ports for Merge<T> {}

impl<T> Sealed for Merge<T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        self.ports.visit(visitor);
    }
}

impl<T> Unpin for Merge<T> {}

impl<T> Stream for Merge<T> {
    type Item = (usize, T);

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<(usize, T)>> {
        self.poll_recv(context)
    }
}

impl<T> fmt::Debug for Merge<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = self.ports.iter().flatten().count();
        f.debug_struct("Merge")
            .field("inputs", &self.ports.len())
            .field("open", &open)
            .finish_non_exhaustive()
    }
}
