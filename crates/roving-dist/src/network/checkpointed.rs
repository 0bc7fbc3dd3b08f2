//! Checkpoints of a network, as its author sees them.

use super::Network;
use crate::checkpoint::Checkpoints;

impl Network<'_> {
    /// Writes the states of the processes and the messages between them to a directory, again and
    /// again, so that a run that was killed can resume, on as many ranks or on another number. No
    /// message is lost or doubled. To be called before the processes are added.
    ///
    /// All processes are [movable](Self::movable). A process is recorded at the end of a step,
    /// while the others go on, and a checkpoint is whole when all are recorded: so a step that
    /// takes long, or waits long for a message, delays it. What such a step sends meanwhile is kept
    /// in memory. If that is more than 64 MiB on one channel, the checkpoint is given up, and the
    /// next one is made when it is due.
    ///
    /// The network has to be deterministic: a step does the same with the same state and the same
    /// messages, and asks no port which of two messages was first. Nor may it matter to others when
    /// a producer learns that its consumer has dropped the port: a run that resumes may let it
    /// learn earlier, when they have had what it sent else. What a process leaves outside of its
    /// state is lost with its rank, and not in a checkpoint. So no checkpoint is made any more when
    /// a process has ended that is [pinned](Self::pin), or has no output: a run that resumes runs
    /// it again, from before its end. Figures of the [`Report`](crate::Report) are those of the run
    /// that has come to the end.
    ///
    /// # Errors
    /// Of the run: [`NetworkError::Invalid`](crate::NetworkError::Invalid) for a process that is
    /// not movable, or for one that is seen to ask who is faster;
    /// [`NetworkError::World`](crate::NetworkError::World) if the checkpoints cannot be used.
    ///
    /// ```
    /// use roving_dist::{Checkpoints, Network, World};
    /// use std::time::Duration;
    ///
    /// let directory = std::env::temp_dir().join(format!("roving-network-example-{}", std::process::id()));
    /// let sums = World::threads(2, |world| {
    ///     let mut sum = 0;
    ///     let mut network = Network::new(&world);
    ///     let every = Duration::from_secs(60);
    ///     network.checkpoints(Checkpoints::to(&directory).every(every).resume(true));
    ///     let (out, numbers) = network.channel("numbers");
    ///     network.movable("source", out, 1..=100_u64, async |mut left, mut out| {
    ///         out.send(left.next()?).await.ok()?;
    ///         Some((left, out))
    ///     });
    ///     let into = &mut sum;
    ///     network.movable("sum", numbers, 0, move |sum: u64, mut numbers| {
    ///         *into = sum; // the last time when there are no more
    ///         async move { Some((sum + numbers.recv().await?, numbers)) }
    ///     });
    ///     network.pin("sum", 0);
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     sum
    /// });
    /// assert_eq!(sums, [5050, 0]);
    /// # std::fs::remove_dir_all(&directory).unwrap();
    /// ```
    pub fn checkpoints(&mut self, checkpoints: Checkpoints) {
        if !self.slots.is_empty() {
            self.refuse("checkpoints after a process: say where they go before".into());
        }
        self.shape.set_checkpoints();
        self.checkpoints = Some(checkpoints);
    }

    /// Whether the channels of movable processes are two each: also on one rank, if what lies in
    /// them is to be recorded.
    pub(super) fn is_split(&self) -> bool {
        self.world.ranks() > 1 || self.checkpoints.is_some()
    }
}
