//! Processes that are often wanted: sources and sinks.

use std::fmt::Display;
use std::future::poll_fn;
use std::pin::pin;

use futures_core::Stream;

use crate::network::Network;
use crate::port::{In, Out};

impl<'env> Network<'env> {
    /// Adds a process that sends the items of an iterator, until the iterator ends or the receiver
    /// is gone.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let words = ["one", "two"];
    /// let mut got: Vec<&str> = Vec::new();
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("words");
    /// network.source("source", out, words);
    /// network.collect_into("sink", input, &mut got);
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(got, ["one", "two"]);
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

    /// Adds a process that sends the items of a stream, which may come from outside of the network.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("numbers");
    /// network.source_stream("source", out, futures_util::stream::iter(0..3));
    /// network.collect_into("sink", input, &mut got);
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(got, [0, 1, 2]);
    /// ```
    pub fn source_stream<T, S>(&mut self, name: impl Display, out: Out<T>, stream: S)
    where
        T: Send + 'env,
        S: Stream<Item = T> + Send + 'env,
    {
        self.process(name, out, move |mut out| async move {
            let mut stream = pin!(stream);
            while let Some(item) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
                if out.send(item).await.is_err() {
                    break;
                }
            }
        });
    }

    /// Adds a process that calls `f` with each message.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut sum = 0;
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("numbers");
    /// network.source("source", out, 1..=10);
    /// network.sink("sink", input, |number| sum += number);
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(sum, 55);
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

    /// Adds a process that puts each message into a collection, to be read when the network has
    /// run.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut text = String::new();
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("letters");
    /// network.source("source", out, "letters".chars());
    /// network.collect_into("sink", input, &mut text);
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(text, "letters");
    /// ```
    pub fn collect_into<T, C>(&mut self, name: impl Display, input: In<T>, into: &'env mut C)
    where
        T: Send + 'env,
        C: Extend<T> + Send,
    {
        self.sink(name, input, |message| into.extend([message]));
    }
}
