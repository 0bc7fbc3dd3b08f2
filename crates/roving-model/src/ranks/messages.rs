//! Messages between simulated ranks: their costs, and how many of which kind there were.

/// Costs of a message, in ns.
///
/// ```
/// // A slow network.
/// let costs = roving_model::MessageCosts { latency_ns: 20_000.0, ..Default::default() };
/// assert!(costs.send_ns < costs.latency_ns);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MessageCosts {
    /// The sender is busy so long.
    pub send_ns: f64,
    /// The message is under way so long.
    pub latency_ns: f64,
    /// The receiver is busy so long.
    pub receive_ns: f64,
    /// Each of the two is busy so long for each task in the message.
    pub task_ns: f64,
}

impl Default for MessageCosts {
    /// Half of a hop of 407 ns by shared memory is each side's; the network takes a microsecond, as
    /// those of clusters do.
    ///
    /// ```
    /// assert_eq!(roving_model::MessageCosts::default().latency_ns, 1_000.0);
    /// ```
    fn default() -> MessageCosts {
        MessageCosts {
            send_ns: 200.0,
            latency_ns: 1_000.0,
            receive_ns: 200.0,
            task_ns: 10.0,
        }
    }
}

/// Counts of messages, by what they are.
///
/// ```
/// let outcome = roving_model::Ranks::new(2).run([()], |(), _| 1_000_000.0)?;
/// // Rank 1 asks, and waits at its lifeline. Rank 0 has one task, and nothing to give.
/// let messages = outcome.messages;
/// assert_eq!((messages.tasks, messages.lifelines, messages.ends), (0, 1, 1));
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Requests to ranks taken at random.
    pub asks: u64,
    /// Answers that there is nothing.
    pub refusals: u64,
    /// Requests that stay until they are answered.
    pub lifelines: u64,
    /// Messages with tasks.
    pub tasks: u64,
    /// News to the detection of the end: one for each message with tasks, and one for each rank at
    /// the start.
    pub acknowledgements: u64,
    /// News of the end.
    pub ends: u64,
}

impl Messages {
    /// Counts all of them.
    ///
    /// ```
    /// assert_eq!(roving_model::Messages::default().all(), 0);
    /// ```
    pub fn all(&self) -> u64 {
        let Messages {
            asks,
            refusals,
            lifelines,
            tasks,
            acknowledgements,
            ends,
        } = self;
        asks + refusals + lifelines + tasks + acknowledgements + ends
    }
}
