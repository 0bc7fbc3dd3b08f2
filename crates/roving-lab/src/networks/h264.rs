//! `h264`: the blocks of an H.264 encoder with artificial work, as in Nornir. Motion estimation
//! (ME), motion compensation (MC) and prediction (P) are divided among many processes; what is not
//! limits the speed-up.
//!
//! The paper weighs its blocks by a profile of x264 that it does not print. The weights here are
//! ours: the three divided stages have 60 % of the work ("over 50 %" there), and the blocks that
//! one frame must pass before the next may begin have 26 %, so that 8 cores give about 3 times the
//! speed of one (2.8 there).

use roving_flow::{In, Network, Out};

use super::builder::Builder;
use super::found::FoundAnswer;
use super::params::{Param, read};
use super::work::{mixed, share, turns_in, work};
use super::{NetworkEntry, NetworkProgram};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::{RunAnswer, WorkloadKind};

pub(super) const ENTRY: NetworkEntry = NetworkEntry {
    kind: WorkloadKind {
        name: "h264",
        about: "the blocks of an H.264 encoder with artificial work; little of it is parallel",
        inputs: &[
            (
                "128",
                "P, MC and ME with 128 processes each, 50 frames of 10 ms",
            ),
            ("256", "the same with 256 processes each"),
            ("512", "the same with 512 processes each"),
        ],
        params: "processes=1 to 1e5 in each of P, MC and ME, frames=1 to 1e6, frame_us=1 to 1e7 of work",
        items: "frames",
        figures: &["frames", "checksum"],
        serial: "block after block, frame after frame",
    },
    parse: |input| Ok(Box::new(H264::parse(input)?)),
};

/// A block of the encoder.
struct EncoderBlock {
    name: &'static str,
    /// Its part of the work of a frame.
    permille: u64,
    /// Whether many processes do it.
    divided: bool,
}

const fn block(name: &'static str, permille: u64, divided: bool) -> EncoderBlock {
    EncoderBlock {
        name,
        permille,
        divided,
    }
}

/// In an order in which one frame can be encoded. The first is the source, the last is the sink.
const BLOCKS: [EncoderBlock; 15] = [
    block("frame", 0, false),
    block("ME", 380, true),
    block("MC", 130, true),
    block("choose intra", 20, false),
    block("P", 90, true),
    block("D", 20, false),
    block("T", 50, false),
    block("Q", 50, false),
    block("Q⁻¹", 30, false),
    block("T⁻¹", 40, false),
    block("add", 10, false),
    block("filter", 60, false),
    block("reorder", 10, false),
    block("entropy", 110, false),
    block("NAL", 0, false),
];

/// From, to, and whether what is read is of the frame before.
const WIRES: [(usize, usize, bool); 20] = [
    (0, 1, false),
    (11, 1, true),
    (1, 2, false),
    (11, 2, true),
    (0, 3, false),
    (10, 3, true),
    (3, 4, false),
    (0, 5, false),
    (2, 5, false),
    (4, 5, false),
    (5, 6, false),
    (6, 7, false),
    (7, 8, false),
    (8, 9, false),
    (9, 10, false),
    (2, 10, false),
    (4, 10, false),
    (10, 11, false),
    (7, 12, false),
    (12, 13, false),
];
/// The wire into the sink.
const LAST: (usize, usize) = (13, 14);
/// Frames that wait in a channel at most.
const CAPACITY: usize = 2;

/// An encoder and its frames.
#[derive(Debug)]
pub(crate) struct H264 {
    processes: u64,
    frames: u64,
    frame_us: u64,
    /// Of one frame.
    pub(crate) turns: u64,
    found: FoundAnswer,
}

impl H264 {
    pub(crate) fn parse(input: &str) -> Result<H264, BadInput> {
        let mut h264 = H264 {
            processes: 128,
            frames: 50,
            frame_us: 10_000,
            turns: 0,
            found: FoundAnswer::default(),
        };
        let params = &mut [
            Param::new("processes", 1..=100_000, &mut h264.processes),
            Param::new("frames", 1..=1_000_000, &mut h264.frames),
            Param::new("frame_us", 1..=10_000_000, &mut h264.frame_us),
        ];
        read("h264", input, params)?;
        h264.turns = turns_in(h264.frame_us * 1000);
        Ok(h264)
    }

    /// The turns of a block for one frame.
    fn turns_of(&self, block: &EncoderBlock) -> u64 {
        self.turns * block.permille / 1000
    }
}

/// The result of the `place`-th process of a divided block for `word`.
fn part(turns: u64, place: usize, processes: usize, word: u64) -> u64 {
    work(share(turns, place, processes), word ^ place as u64)
}

/// A port, and whether its first message is of no frame.
type Delayed = (In<u64>, bool);

/// The inputs of a block, which of them are delayed, and its outputs.
type Ends = (Vec<In<u64>>, Vec<bool>, Vec<Out<u64>>);

/// One word made of a message from each port; `first` leaves out what is delayed. None when there
/// are no more.
async fn gather(inputs: &mut [Delayed], first: bool) -> Option<u64> {
    let mut word = 0;
    for (input, delayed) in inputs {
        let read = if first && *delayed {
            0
        } else {
            input.recv().await?
        };
        word = mixed(word, read);
    }
    Some(word)
}

/// Sends `word` to all. Who has ended does not get it: the last frame has no next one.
async fn scatter(outs: &mut [Out<u64>], word: u64) {
    for out in outs {
        let _ = out.send(word).await;
    }
}

/// A block that one process does; with no work, also the one that divides.
async fn single(turns: u64, inputs: Vec<In<u64>>, delays: Vec<bool>, mut outs: Vec<Out<u64>>) {
    let mut inputs: Vec<Delayed> = inputs.into_iter().zip(delays).collect();
    let mut first = true;
    while let Some(word) = gather(&mut inputs, first).await {
        scatter(&mut outs, work(turns, word)).await;
        first = false;
    }
}

impl H264 {
    /// Makes the processes of a divided block: one that divides, many that work, one that puts
    /// together.
    fn divided<'env>(&self, network: &mut impl Builder<'env>, block: &EncoderBlock, ends: Ends) {
        let (name, turns) = (block.name, self.turns_of(block));
        let (inputs, delays, outs) = ends;
        let processes = self.processes as usize;
        let (mut tasks, mut results) = (Vec::new(), Vec::new());
        for place in 0..processes {
            let (task, input) = network.bounded(format_args!("{name} task {place}"), CAPACITY);
            let (out, result) = network.bounded(format_args!("{name} result {place}"), CAPACITY);
            let body = move |(mut input, mut out): (In<u64>, Out<u64>)| async move {
                while let Some(word) = input.recv().await {
                    if out.send(part(turns, place, processes, word)).await.is_err() {
                        break;
                    }
                }
            };
            network.process(format_args!("{name} {place}"), (input, out), body);
            tasks.push(task);
            results.push(result);
        }
        network.process(
            format_args!("{name} divide"),
            (inputs, tasks),
            move |(inputs, outs): (Vec<In<u64>>, Vec<Out<u64>>)| single(0, inputs, delays, outs),
        );
        let join = |(mut results, mut outs): (Vec<In<u64>>, Vec<Out<u64>>)| async move {
            'frames: loop {
                let mut word = 0;
                for result in &mut results {
                    match result.recv().await {
                        Some(part) => word = mixed(word, part),
                        None => break 'frames,
                    }
                }
                scatter(&mut outs, word).await;
            }
        };
        network.process(format_args!("{name} join"), (results, outs), join);
    }

    /// Makes the processes and channels of one run.
    pub(crate) fn weave_in<'env>(&'env self, network: &mut impl Builder<'env>) {
        self.found.clear();
        let mut ends: Vec<Ends> = Vec::new();
        ends.resize_with(BLOCKS.len() - 1, Default::default);
        for (from, to, delayed) in WIRES {
            let name = format!("{} to {}", BLOCKS[from].name, BLOCKS[to].name);
            let (out, input) = network.bounded(name, CAPACITY);
            ends[from].2.push(out);
            ends[to].0.push(input);
            ends[to].1.push(delayed);
        }
        let (stream, encoded) = network.bounded("encoded", CAPACITY);
        ends[LAST.0].2.push(stream);
        for (place, ends) in ends.into_iter().enumerate() {
            let block = &BLOCKS[place];
            let (frames, turns) = (self.frames, self.turns_of(block));
            if block.divided {
                self.divided(network, block, ends);
            } else if place == 0 {
                network.process(
                    block.name,
                    ends.2,
                    move |mut outs: Vec<Out<u64>>| async move {
                        for frame in 0..frames {
                            scatter(&mut outs, work(turns, frame)).await;
                        }
                    },
                );
            } else {
                let (inputs, delays, outs) = ends;
                network.process(
                    block.name,
                    (inputs, outs),
                    move |(inputs, outs): (Vec<In<u64>>, Vec<Out<u64>>)| {
                        single(turns, inputs, delays, outs)
                    },
                );
            }
        }
        network.first(
            BLOCKS[LAST.1].name,
            encoded,
            move |mut encoded: In<u64>| async move {
                let (mut frames, mut sum) = (0, 0);
                while let Some(word) = encoded.recv().await {
                    frames += 1;
                    sum = mixed(sum, word);
                }
                self.found.set(RunAnswer([frames, sum, 0]), None);
            },
        );
    }
}

impl NetworkProgram for H264 {
    fn input(&self) -> String {
        let H264 {
            processes,
            frames,
            frame_us,
            ..
        } = self;
        format!("processes={processes},frames={frames},frame_us={frame_us}")
    }

    fn weave<'env>(&'env self, network: &mut Network<'env>) {
        self.weave_in(network);
    }

    fn answer(&self) -> RunAnswer {
        self.found.answer()
    }

    fn serial(&self) -> Result<RunAnswer, CommandFailure> {
        let processes = self.processes as usize;
        let (mut words, mut sum) = ([0u64; BLOCKS.len()], 0);
        for frame in 0..self.frames {
            // Those that are read delayed stand behind their readers, so they still are of the
            // frame before.
            for (place, block) in BLOCKS.iter().enumerate().take(LAST.1) {
                let wires = WIRES.iter().filter(|wire| wire.1 == place);
                let read = wires.fold(0, |word, wire| mixed(word, words[wire.0]));
                let turns = self.turns_of(block);
                words[place] = if place == 0 {
                    work(turns, frame)
                } else if block.divided {
                    let word = work(0, read);
                    (0..processes).fold(0, |sum, place| {
                        mixed(sum, part(turns, place, processes, word))
                    })
                } else {
                    work(turns, read)
                };
            }
            sum = mixed(sum, words[LAST.0]);
        }
        Ok(RunAnswer([self.frames, sum, 0]))
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_shared_as_stated() {
        let all = |divided: bool| {
            let blocks = BLOCKS.iter().filter(|block| block.divided == divided);
            blocks.map(|block| block.permille).sum::<u64>()
        };
        assert_eq!((all(true), all(false)), (600, 400));
        // What a frame must pass, one block after the other, before the next may begin.
        let ring: u64 = [5, 6, 7, 8, 9, 10, 11]
            .iter()
            .map(|place| BLOCKS[*place].permille)
            .sum();
        assert_eq!(ring, 260);
    }

    #[test]
    fn only_wires_that_lead_back_are_delayed() {
        for (from, to, delayed) in WIRES {
            assert_eq!(
                from > to,
                delayed,
                "{} to {}",
                BLOCKS[from].name,
                BLOCKS[to].name
            );
        }
        for (place, block) in BLOCKS.iter().enumerate().take(LAST.1).skip(1) {
            let fed = WIRES.iter().any(|wire| wire.1 == place);
            assert!(fed, "{}", block.name);
        }
    }

    #[test]
    fn the_checksum_sees_frames_and_processes() {
        let found = |input: &str| H264::parse(input).unwrap().serial().unwrap();
        let base = found("4,frames=3,frame_us=20");
        assert_eq!(base, found("4,frames=3,frame_us=20"));
        assert_ne!(base.0[1], found("5,frames=3,frame_us=20").0[1]);
        assert_ne!(base.0[1], found("4,frames=2,frame_us=20").0[1]);
        for input in ["128", "256", "512", "3,frames=2"] {
            let h264 = H264::parse(input).unwrap();
            assert_eq!(h264.input(), H264::parse(&h264.input()).unwrap().input());
        }
    }
}
