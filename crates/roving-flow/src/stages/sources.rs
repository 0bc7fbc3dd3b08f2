//! Processes that are often wanted: sources and sinks.

use std::fmt::Display;
use std::future::poll_fn;
use std::pin::pin;

use futures_core::Stream;

use crate::network::Network;
use crate::port::Merge;
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

    /// Adds a source of items that may fail, such as the lines of a file: the first error ends the
    /// network, and [`Self::run`] returns it with the name of the process.
    ///
    /// ```
    /// use std::io::BufRead;
    /// use roving_flow::Network;
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, lines) = network.channel("lines");
    /// network.try_source("read", out, b"one\ntwo\n\xff".lines());
    /// network.collect_into("sink", lines, &mut got);
    /// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
    /// assert!(error.to_string().contains("`read`"));
    /// ```
    pub fn try_source<T, E, I>(&mut self, name: impl Display, out: Out<T>, items: I)
    where
        T: Send + 'env,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + Send + 'env,
        I: IntoIterator<Item = Result<T, E>> + Send + 'env,
        I::IntoIter: Send,
    {
        self.try_process(name, out, move |mut out| async move {
            for item in items {
                if out.send(item?).await.is_err() {
                    break;
                }
            }
            Ok::<(), E>(())
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

    /// Adds a source that sends the items of several iterators, each of which is worked through by
    /// a process of its own. It sends one item of each in turn, and goes on with the others when
    /// one has ended; so the order is the same in each run.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, lines) = network.channel("lines");
    /// network.sources("read", out, ["a1 a2 a3", "b1"].map(str::split_whitespace));
    /// network.collect_into("sink", lines, &mut got);
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert_eq!(got, ["a1", "b1", "a2", "a3"]);
    /// ```
    pub fn sources<T, I>(
        &mut self,
        name: impl Display,
        out: Out<T>,
        sources: impl IntoIterator<Item = I>,
    ) where
        T: Send + 'env,
        I: IntoIterator<Item = T> + Send + 'env,
        I::IntoIter: Send,
    {
        self.several(name, sources, |network, inputs| {
            network.process("gather", (inputs, out), in_turn);
        });
    }

    /// Adds a source like [`Self::sources`] that sends the items as soon as they are there: a slow
    /// iterator holds up no other.
    ///
    /// # Not deterministic
    ///
    /// Which item comes first depends on who is faster: see [`Merge`].
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut sum = 0;
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel("numbers");
    /// network.sources_unordered("count", out, [0..10, 10..20]);
    /// network.sink("sink", numbers, |number| sum += number);
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert_eq!(sum, (0..20).sum());
    /// ```
    pub fn sources_unordered<T, I>(
        &mut self,
        name: impl Display,
        out: Out<T>,
        sources: impl IntoIterator<Item = I>,
    ) where
        T: Send + 'env,
        I: IntoIterator<Item = T> + Send + 'env,
        I::IntoIter: Send,
    {
        self.several(name, sources, |network, inputs| {
            network.process("gather", (Merge::new(inputs), out), as_ready);
        });
    }

    /// A stage with a process for each source; `gather` adds the one that takes from them all.
    fn several<T, I>(
        &mut self,
        name: impl Display,
        sources: impl IntoIterator<Item = I>,
        gather: impl FnOnce(&mut Self, Vec<In<T>>),
    ) where
        T: Send + 'env,
        I: IntoIterator<Item = T> + Send + 'env,
        I::IntoIter: Send,
    {
        let sources: Vec<I> = sources.into_iter().collect();
        self.as_stage(name, sources.len(), |network| {
            let mut inputs = Vec::new();
            for (number, items) in sources.into_iter().enumerate() {
                let (out, input) = network.channel(format_args!("from {number}"));
                network.source(number, out, items);
                inputs.push(input);
            }
            gather(network, inputs);
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

    /// Adds a process that calls `f`, which may fail, with each message: the first error ends the
    /// network, and [`Self::run`] returns it with the name of the process.
    ///
    /// ```
    /// use std::io::Write;
    /// use roving_flow::Network;
    ///
    /// let mut full: &mut [u8] = &mut [0; 5];
    /// let mut network = Network::new();
    /// let (out, lines) = network.channel("lines");
    /// network.source("source", out, ["one", "two"]);
    /// network.try_sink("write", lines, |line: &str| full.write_all(line.as_bytes()));
    /// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
    /// assert!(error.to_string().contains("`write`"));
    /// ```
    pub fn try_sink<T, E, F>(&mut self, name: impl Display, input: In<T>, mut f: F)
    where
        T: Send + 'env,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + Send + 'env,
        F: FnMut(T) -> Result<(), E> + Send + 'env,
    {
        self.try_process(name, input, move |mut input| async move {
            while let Some(message) = input.recv().await {
                f(message)?;
            }
            Ok::<(), E>(())
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

/// Sends on one message of each input in turn, until all have ended or nobody wants them.
async fn in_turn<T>((mut inputs, mut out): (Vec<In<T>>, Out<T>)) {
    let mut next = 0;
    while !inputs.is_empty() {
        match inputs[next].recv().await {
            Some(message) => {
                if out.send(message).await.is_err() {
                    return;
                }
                next += 1;
            }
            None => drop(inputs.remove(next)),
        }
        if next >= inputs.len() {
            next = 0;
        }
    }
}

/// Sends on the messages as they come.
pub(crate) async fn as_ready<T>((mut inputs, mut out): (Merge<T>, Out<T>)) {
    while let Some((_, message)) = inputs.recv().await {
        if out.send(message).await.is_err() {
            break;
        }
    }
}
