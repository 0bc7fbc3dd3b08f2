//! Processes that are often wanted between a source and a sink: each is one process.

use std::fmt::Display;

use crate::network::Network;
use crate::port::{In, Out};

impl<'env> Network<'env> {
    /// Adds a process that sends on the messages of which `keep` returns true, and drops the
    /// others.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel("numbers");
    /// let (even, evens) = network.channel("evens");
    /// network.source("source", out, 0..10);
    /// network.filter("even", numbers, even, |number| number % 2 == 0);
    /// network.collect_into("sink", evens, &mut got);
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert_eq!(got, [0, 2, 4, 6, 8]);
    /// ```
    pub fn filter<T, F>(&mut self, name: impl Display, input: In<T>, out: Out<T>, mut keep: F)
    where
        T: Send + 'env,
        F: FnMut(&T) -> bool + Send + 'env,
    {
        self.flat_map(name, input, out, move |message| {
            keep(&message).then_some(message)
        });
    }

    /// Adds a process that sends all items that `f` makes of each message: none, one or many. An
    /// `Option` is none or one.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, lines) = network.channel("lines");
    /// let (split, words) = network.channel("words");
    /// network.source("source", out, ["to be or", "", "not"]);
    /// network.flat_map("split", lines, split, |line: &str| line.split_whitespace());
    /// network.collect_into("sink", words, &mut got);
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert_eq!(got, ["to", "be", "or", "not"]);
    /// ```
    pub fn flat_map<T, U, I, F>(&mut self, name: impl Display, input: In<T>, out: Out<U>, mut f: F)
    where
        T: Send + 'env,
        U: Send + 'env,
        I: IntoIterator<Item = U>,
        I::IntoIter: Send,
        F: FnMut(T) -> I + Send + 'env,
    {
        let ports = (input, out);
        self.process(name, ports, move |(mut input, mut out)| async move {
            while let Some(message) = input.recv().await {
                let items = f(message).into_iter();
                for item in items {
                    if out.send(item).await.is_err() {
                        return;
                    }
                }
            }
        });
    }

    /// Adds a process that sends the messages in batches of `size`. The last batch may be smaller,
    /// and none is empty. A batch is sent when it is full, or when the input has ended: where
    /// messages are rare, the first of a batch waits for the others.
    ///
    /// A `size` of 0 makes [`Self::run`] refuse the network.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel("numbers");
    /// let (packed, batches) = network.channel("batches");
    /// network.source("source", out, 0..5);
    /// network.batch("pack", 2, numbers, packed);
    /// network.collect_into("sink", batches, &mut got);
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert_eq!(got, [vec![0, 1], vec![2, 3], vec![4]]);
    /// ```
    pub fn batch<T>(&mut self, name: impl Display, size: usize, input: In<T>, out: Out<Vec<T>>)
    where
        T: Send + 'env,
    {
        if size == 0 {
            self.refuse(format_args!(
                "`{name}` makes batches of 0 messages; at least 1 is allowed: give more"
            ));
        }
        let ports = (input, out);
        self.process(name, ports, move |(mut input, mut out)| async move {
            let mut batch = Vec::new();
            while let Some(message) = input.recv().await {
                batch.push(message);
                if batch.len() >= size && out.send(std::mem::take(&mut batch)).await.is_err() {
                    return;
                }
            }
            if !batch.is_empty() {
                // Whoever does not want it any more has said so by dropping its port.
                let _ = out.send(batch).await;
            }
        });
    }

    /// Adds a process that sends a clone of each message to each output, in their order. It goes
    /// on as long as one of them is open, and waits for each that has no room: the slowest receiver
    /// is the pace.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let (mut sum, mut most) = (0, 0);
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel("numbers");
    /// let (to_sum, summed) = network.channel("to sum");
    /// let (to_most, compared) = network.channel("to most");
    /// network.source("source", out, [3, 1, 2]);
    /// network.broadcast("both", numbers, [to_sum, to_most]);
    /// network.sink("sum", summed, |number| sum += number);
    /// network.sink("most", compared, |number| most = most.max(number));
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert_eq!((sum, most), (6, 3));
    /// ```
    pub fn broadcast<T>(
        &mut self,
        name: impl Display,
        input: In<T>,
        outs: impl IntoIterator<Item = Out<T>>,
    ) where
        T: Clone + Send + 'env,
    {
        let outs: Vec<_> = outs.into_iter().map(Some).collect();
        let ports = (input, outs);
        self.process(name, ports, move |(mut input, mut outs)| async move {
            while let Some(message) = input.recv().await {
                for place in &mut outs {
                    let Some(out) = place else {
                        continue;
                    };
                    if out.send(message.clone()).await.is_err() {
                        *place = None;
                    }
                }
                if outs.iter().all(Option::is_none) {
                    return;
                }
            }
        });
    }

    /// Adds a process that sends pairs: the first messages of both inputs, the second ones, and so
    /// on, until one input has ended.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, names) = network.channel("names");
    /// let (counted, numbers) = network.channel("numbers");
    /// let (paired, pairs) = network.channel("pairs");
    /// network.source("names", out, ["one", "two"]);
    /// network.source("numbers", counted, 1..);
    /// network.zip("pair", names, numbers, paired);
    /// network.collect_into("sink", pairs, &mut got);
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert_eq!(got, [("one", 1), ("two", 2)]);
    /// ```
    pub fn zip<T, U>(&mut self, name: impl Display, left: In<T>, right: In<U>, out: Out<(T, U)>)
    where
        T: Send + 'env,
        U: Send + 'env,
    {
        let ports = (left, right, out);
        self.process(
            name,
            ports,
            async |(mut left, mut right, mut out): (In<T>, In<U>, Out<(T, U)>)| {
                while let Some(one) = left.recv().await {
                    let Some(other) = right.recv().await else {
                        return;
                    };
                    if out.send((one, other)).await.is_err() {
                        return;
                    }
                }
            },
        );
    }
}
