//! Processes that are often wanted: sources and sinks.

use std::fmt::Display;

use roving_flow::{In, Out};

use super::Network;

impl<'env> Network<'env> {
    /// Adds a process that sends the items of an iterator, until the iterator ends or the receiver
    /// is gone.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.channel("numbers");
    ///     network.source("source", out, [1, 2, 3]);
    ///     network.sink("sink", input, |number| assert!(number < 4));
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// });
    /// ```
    pub fn source<T, I>(&mut self, name: impl Display, out: Out<T>, items: I)
    where
        T: Send + 'env,
        I: IntoIterator<Item = T> + Send + 'env,
        I::IntoIter: Send,
    {
        self.process(name, out, move |mut out| async move {
            for item in items {
                if out.send(item).await.is_err() {
                    break;
                }
            }
        });
    }

    /// Adds a process that calls `f` with each message, on the rank where it runs.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// let sums = World::threads(2, |world| {
    ///     let mut sum = 0;
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.channel("numbers");
    ///     network.source("source", out, 1..=4_u32);
    ///     network.sink("sink", input, |number: u32| sum += number);
    ///     network.pin("sink", 1);
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     sum
    /// });
    /// assert_eq!(sums, [0, 10]);
    /// ```
    pub fn sink<T, F>(&mut self, name: impl Display, input: In<T>, mut f: F)
    where
        T: Send + 'env,
        F: FnMut(T) + Send + 'env,
    {
        self.process(name, input, move |mut input| async move {
            while let Some(message) = input.recv().await {
                f(message);
            }
        });
    }

    /// Adds a process that puts each message into a collection, on the rank where it runs: on the
    /// others the collection stays as it is.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// let texts = World::threads(2, |world| {
    ///     let mut text = String::new();
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.channel("letters");
    ///     network.source("source", out, "letters".chars());
    ///     network.collect_into("sink", input, &mut text);
    ///     network.pin("sink", 0);
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     text
    /// });
    /// assert_eq!(texts, ["letters", ""]);
    /// ```
    pub fn collect_into<T, C>(&mut self, name: impl Display, input: In<T>, into: &'env mut C)
    where
        T: Send + 'env,
        C: Extend<T> + Send,
    {
        self.sink(name, input, |message| into.extend([message]));
    }
}
