//! Stages of several processes that share the messages of one channel.

use std::fmt::Display;
use std::future::poll_fn;
use std::task::Poll;

use roving_flow::{In, Out};
use serde::{Serialize, de::DeserializeOwned};

use super::Network;

/// Messages that may wait for each process of a stage, besides the one that it is at.
const WAITING: usize = 2;

impl<'env> Network<'env> {
    /// Adds a stage of `k` processes that apply `f` to each message, on any rank. Results come out
    /// in the order in which the messages came in, whichever process was faster.
    ///
    /// Each of the `k` has a clone of `f`. Where `f` is a function of its message alone, the
    /// network stays deterministic.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// let got = World::threads(2, |world| {
    ///     let mut got = Vec::new();
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.channel("numbers");
    ///     let (squared, squares) = network.channel("squares");
    ///     network.source("source", out, 0..100_u64);
    ///     network.stage("square", 4, input, squared, |number| number * number);
    ///     network.collect_into("sink", squares, &mut got);
    ///     network.pin("sink", 0);
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     got
    /// });
    /// assert!(got[0].iter().copied().eq((0..100).map(|number| number * number)));
    /// ```
    pub fn stage<T, U, F>(&mut self, name: impl Display, k: usize, input: In<T>, out: Out<U>, f: F)
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        U: Serialize + DeserializeOwned + Send + 'static,
        F: FnMut(T) -> U + Clone + Send + 'env,
    {
        self.group(name, |network| network.ordered_stage(k, input, out, f));
    }

    fn ordered_stage<T, U, F>(&mut self, k: usize, input: In<T>, out: Out<U>, f: F)
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        U: Serialize + DeserializeOwned + Send + 'static,
        F: FnMut(T) -> U + Clone + Send + 'env,
    {
        if k == 0 {
            self.refuse(format!(
                "{}: a stage of 0 processes does nothing; at least 1 is allowed: give more",
                self.prefix.trim_end_matches('/')
            ));
        }
        let places = k.saturating_mul(2 * (WAITING + 1)).max(1);
        let (dealt, order) = self.bounded("order", places);
        let (mut outs, mut results) = (Vec::new(), Vec::new());
        for worker in 0..k {
            let (out, work) = self.bounded(format_args!("to {worker}"), WAITING);
            let (done, result) = self.bounded(format_args!("from {worker}"), WAITING);
            outs.push(out);
            results.push(result);
            let mut f = f.clone();
            self.process(
                worker,
                (work, done),
                move |(mut work, mut done)| async move {
                    while let Some(message) = work.recv().await {
                        if done.send(f(message)).await.is_err() {
                            break;
                        }
                    }
                },
            );
        }
        self.process(
            "deal",
            (input, outs, dealt),
            async |(input, outs, dealt)| {
                deal(input, outs, dealt).await;
            },
        );
        let ports = (results, order, out);
        self.process(
            "gather",
            ports,
            async |(mut results, mut order, mut out)| {
                while let Some(worker) = order.recv().await {
                    let worker: u64 = worker;
                    let Some(result) = results[worker as usize].recv().await else {
                        break;
                    };
                    if out.send(result).await.is_err() {
                        break;
                    }
                }
            },
        );
    }
}

/// Gives each message to a process with room.
async fn deal<T>(mut input: In<T>, mut outs: Vec<Out<T>>, mut order: Out<u64>) {
    let mut next = 0;
    while let Some(message) = input.recv().await {
        let Some(worker) = with_room(&mut outs, &mut next).await else {
            return;
        };
        // The order first: who gathers may wait for it already.
        if order.send(worker as u64).await.is_err() || outs[worker].send(message).await.is_err() {
            return;
        }
    }
}

/// The first of these, in turn, that has room; none when a process is gone.
async fn with_room<T>(outs: &mut [Out<T>], next: &mut usize) -> Option<usize> {
    poll_fn(|context| {
        for step in 0..outs.len() {
            let at = (*next + step) % outs.len();
            match outs[at].poll_ready(context) {
                Poll::Ready(Ok(())) => {
                    *next = (at + 1) % outs.len();
                    return Poll::Ready(Some(at));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(None),
                Poll::Pending => {}
            }
        }
        match outs {
            [] => Poll::Ready(None),
            _ => Poll::Pending,
        }
    })
    .await
}
