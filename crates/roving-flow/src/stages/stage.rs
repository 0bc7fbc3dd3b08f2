//! Stages of several processes that share the messages of one channel.

use std::fmt::Display;

use super::sources::as_ready;
use crate::network::Network;
use crate::port::{In, Out};
use crate::port::{Merge, ready};

/// Messages that may wait for each process of a stage, besides the one that it is at.
const WAITING: usize = 2;

impl<'env> Network<'env> {
    /// Adds a stage of `k` processes that apply `f` to each message. Results come out in the order
    /// in which the messages came in, whichever process was faster.
    ///
    /// Each of the `k` has a clone of `f`. Where `f` is a function of its message alone, the
    /// network stays deterministic.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("numbers");
    /// let (squared, squares) = network.channel("squares");
    /// network.source("source", out, 0..100_u64);
    /// network.stage("square", 4, input, squared, |number| number * number);
    /// network.collect_into("sink", squares, &mut got);
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert!(got.into_iter().eq((0..100).map(|number| number * number)));
    /// ```
    pub fn stage<T, U, F>(&mut self, name: impl Display, k: usize, input: In<T>, out: Out<U>, f: F)
    where
        T: Send + 'env,
        U: Send + 'env,
        F: FnMut(T) -> U + Clone + Send + 'env,
    {
        self.in_order(name, k, input, out, |network, worker, ports| {
            let f = f.clone();
            network.process(worker, ports, |ports| apply(ports, f));
        });
    }

    /// Adds a stage like [`Self::stage`] whose function may fail: the first error ends the network,
    /// and [`Self::run`] returns it with the name of the process.
    ///
    /// ```
    /// use roving_flow::{Error, Network};
    ///
    /// let mut network = Network::new();
    /// let (out, lines) = network.channel("lines");
    /// let (parsed, numbers) = network.channel("numbers");
    /// network.source("source", out, ["1", "2", "three"]);
    /// network.try_stage("parse", 2, lines, parsed, |line: &str| line.parse::<u32>());
    /// network.sink("sink", numbers, |_| {});
    /// let error = network.run(&roving::Pool::new(2).unwrap()).unwrap_err();
    /// let Error::Failed { process, error } = error else { panic!("{error}") };
    /// assert!(process.starts_with("parse/"));
    /// assert_eq!(error.to_string(), "invalid digit found in string");
    /// ```
    pub fn try_stage<T, U, E, F>(
        &mut self,
        name: impl Display,
        k: usize,
        input: In<T>,
        out: Out<U>,
        f: F,
    ) where
        T: Send + 'env,
        U: Send + 'env,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'env,
        F: FnMut(T) -> Result<U, E> + Clone + Send + 'env,
    {
        self.in_order(name, k, input, out, |network, worker, ports| {
            let mut f = f.clone();
            network.try_process(worker, ports, move |(mut work, mut done)| async move {
                while let Some(message) = work.recv().await {
                    let result = f(message)?;
                    if done.send(result).await.is_err() {
                        break;
                    }
                }
                Ok::<(), E>(())
            });
        });
    }

    /// Adds a stage like [`Self::stage`] whose function awaits. Each of the `k` processes awaits
    /// one future at a time, and no worker is blocked meanwhile.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("numbers");
    /// let (doubled, doubles) = network.channel("doubles");
    /// network.source("source", out, 0..10);
    /// network.stage_async("double", 3, input, doubled, async |number: u32| {
    ///     std::future::ready(number * 2).await
    /// });
    /// network.collect_into("sink", doubles, &mut got);
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert!(got.into_iter().eq((0..10).map(|number| number * 2)));
    /// ```
    pub fn stage_async<T, U, F, Fut>(
        &mut self,
        name: impl Display,
        k: usize,
        input: In<T>,
        out: Out<U>,
        f: F,
    ) where
        T: Send + 'env,
        U: Send + 'env,
        F: Fn(T) -> Fut + Clone + Send + 'env,
        Fut: Future<Output = U> + Send + 'env,
    {
        self.in_order(name, k, input, out, |network, worker, ports| {
            let f = f.clone();
            network.process(worker, ports, move |(mut work, mut done)| async move {
                while let Some(message) = work.recv().await {
                    if done.send(f(message).await).await.is_err() {
                        break;
                    }
                }
            });
        });
    }

    /// Adds a stage of `k` processes whose results come out as soon as they are ready.
    ///
    /// # Not deterministic
    ///
    /// Which result comes first depends on who is faster: see [`Merge`].
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("numbers");
    /// let (squared, squares) = network.channel("squares");
    /// network.source("source", out, 0..100_u64);
    /// network.stage_unordered("square", 4, input, squared, |number| number * number);
    /// let mut sum = 0;
    /// network.sink("sink", squares, |square| sum += square);
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert_eq!(sum, (0..100).map(|number| number * number).sum());
    /// ```
    pub fn stage_unordered<T, U, F>(
        &mut self,
        name: impl Display,
        k: usize,
        input: In<T>,
        out: Out<U>,
        f: F,
    ) where
        T: Send + 'env,
        U: Send + 'env,
        F: FnMut(T) -> U + Clone + Send + 'env,
    {
        self.as_stage(name, k, |network| {
            let results = network.workers(k, input, None, |network, worker, ports| {
                let f = f.clone();
                network.process(worker, ports, |ports| apply(ports, f));
            });
            network.process("gather", (Merge::new(results), out), as_ready);
        });
    }

    /// A stage whose results come out in the order of its messages; `add` adds each process that
    /// works, with its number and its ports.
    fn in_order<T, U>(
        &mut self,
        name: impl Display,
        k: usize,
        input: In<T>,
        out: Out<U>,
        add: impl FnMut(&mut Self, usize, (In<T>, Out<U>)),
    ) where
        T: Send + 'env,
        U: Send + 'env,
    {
        self.as_stage(name, k, |network| {
            let places = k.saturating_mul(2 * (WAITING + 1)).max(1);
            let (dealt, order) = network.bounded("order", places);
            let results = network.workers(k, input, Some(dealt), add);
            network.process("gather", (results, order, out), gather);
        });
    }

    /// The processes that deal and that work; returns where the results of each come out. Who got
    /// which message is sent to `order`.
    fn workers<T, U>(
        &mut self,
        k: usize,
        input: In<T>,
        order: Option<Out<usize>>,
        mut add: impl FnMut(&mut Self, usize, (In<T>, Out<U>)),
    ) -> Vec<In<U>>
    where
        T: Send + 'env,
        U: Send + 'env,
    {
        if k == 0 {
            self.refuse("a stage of 0 processes does nothing; at least 1 is allowed: give more");
        }
        let (mut outs, mut results) = (Vec::new(), Vec::new());
        for worker in 0..k {
            let (out, work) = self.bounded(format_args!("to {worker}"), WAITING);
            let (done, result) = self.bounded(format_args!("from {worker}"), WAITING);
            outs.push(Some(out));
            results.push(result);
            add(self, worker, (work, done));
        }
        self.process(
            "deal",
            (input, outs, order),
            async |(input, outs, order)| {
                deal(input, outs, order).await;
            },
        );
        results
    }
}

/// Sends what `f` makes of each message, until there are no more or nobody wants the results.
async fn apply<T, U>((mut work, mut done): (In<T>, Out<U>), mut f: impl FnMut(T) -> U) {
    while let Some(message) = work.recv().await {
        if done.send(f(message)).await.is_err() {
            break;
        }
    }
}

/// Sends the results on in the order in which their messages were dealt.
async fn gather<U>((mut results, mut order, mut out): (Vec<In<U>>, In<usize>, Out<U>)) {
    while let Some(worker) = order.recv().await {
        let Some(result) = results[worker].recv().await else {
            break;
        };
        if out.send(result).await.is_err() {
            break;
        }
    }
}

/// Gives each message to a worker with room.
async fn deal<T>(mut input: In<T>, mut outs: Vec<Option<Out<T>>>, mut order: Option<Out<usize>>) {
    let mut next = 0;
    while let Some(message) = input.recv().await {
        let Some(worker) = ready(&mut outs, &mut next).await else {
            return;
        };
        let Some(out) = &mut outs[worker] else {
            return;
        };
        // The order first: who gathers may wait for it already.
        if let Some(order) = &mut order {
            if order.send(worker).await.is_err() {
                return;
            }
        }
        if out.send(message).await.is_err() {
            return;
        }
    }
}
