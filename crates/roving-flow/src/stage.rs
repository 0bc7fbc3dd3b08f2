//! Stages of several processes that share the messages of one channel.

use std::fmt::Display;

use crate::merge::{Merge, ready};
use crate::network::Network;
use crate::port::{In, Out};

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
        self.group(name, |network| {
            let places = k.saturating_mul(2 * (WAITING + 1)).max(1);
            let (dealt, order) = network.bounded("order", places);
            let results = network.workers(k, input, Some(dealt), f);
            let ports = (results, order, out);
            network.process(
                "gather",
                ports,
                async |(mut results, mut order, mut out)| {
                    while let Some(worker) = order.recv().await {
                        let worker: usize = worker;
                        let Some(result) = results[worker].recv().await else {
                            break;
                        };
                        if out.send(result).await.is_err() {
                            break;
                        }
                    }
                },
            );
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
        self.group(name, |network| {
            let results = network.workers(k, input, None, f);
            let ports = (Merge::new(results), out);
            network.process("gather", ports, async |(mut results, mut out)| {
                while let Some((_, result)) = results.recv().await {
                    if out.send(result).await.is_err() {
                        break;
                    }
                }
            });
        });
    }

    /// The processes that deal and that work; returns where the results of each come out. Who got
    /// which message is sent to `order`.
    fn workers<T, U, F>(
        &mut self,
        k: usize,
        input: In<T>,
        order: Option<Out<usize>>,
        f: F,
    ) -> Vec<In<U>>
    where
        T: Send + 'env,
        U: Send + 'env,
        F: FnMut(T) -> U + Clone + Send + 'env,
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
            let mut f = f.clone();
            let ports = (work, done);
            self.process(worker, ports, move |(mut work, mut done)| async move {
                while let Some(message) = work.recv().await {
                    if done.send(f(message)).await.is_err() {
                        break;
                    }
                }
            });
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
