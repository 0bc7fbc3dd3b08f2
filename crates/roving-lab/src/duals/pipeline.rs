//! `image-pipeline`: PNG files are decoded, filtered and encoded again, as a network of processes.
//! The filter is a task with two sides, the rest runs on the CPU.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use roving_flow::Network;
use roving_gpu::Buffer;

use super::math::filter::{self, Filter};
use super::picture::{self, Picture, Source};
use super::program::{DualEntry, DualProgram, PoolAndDevices};
use super::steps;
use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::workloads::numbers::Digest;
use crate::workloads::{RunAnswer, TimedAnswer, WorkloadKind, parse_params};

/// The entry in the catalogue.
pub(super) const ENTRY: DualEntry = DualEntry {
    kind: WorkloadKind {
        name: "image-pipeline",
        about: "PNG files decoded, filtered by tasks with two sides, and encoded, as a network",
        inputs: &[
            ("48", "48 pictures of up to 640 × 640, made without files"),
            ("12,side=160", "12 small ones"),
            ("200,side=2048,radius=6", "200 large ones"),
        ],
        params: "pictures, from 1 to 100000; side=PIXELS, radius=PIXELS up to 16; or folder=PATH of PNG files",
        items: "pixels",
        figures: &["checksum", "pictures", "pixels"],
        serial: "the CPU sides alone",
    },
    parse,
};

/// How many pictures may wait between two stages.
const CAPACITY: usize = 4;
/// As many pictures can be with a device at once.
const LANES: usize = 8;
/// By how much the luma of two pixels differs that have nothing to do with each other.
const THRESHOLD: u32 = 48;

struct Pipeline {
    count: u64,
    side: usize,
    radius: usize,
    folder: Option<PathBuf>,
    sources: Vec<Source>,
    expected: RunAnswer,
    /// Pixels times neighbours of all pictures.
    work: f64,
}

fn parse(input: &str) -> Result<Box<dyn DualProgram>, BadInput> {
    let (mut count, mut side, mut radius, mut folder) = (48, 640, 4, None);
    let keys = ["pictures", "side", "radius", "folder"];
    for (key, value) in parse_params("image-pipeline", &keys, input)? {
        let subject = format!("image-pipeline {key}");
        match key {
            "pictures" => count = number_in(&subject, value, 1..=100_000, "leave it out for 48")?,
            "side" => side = number_in(&subject, value, 1..=16_384, "leave it out for 640")?,
            "radius" => radius = number_in(&subject, value, 1..=16, "leave it out for 4")?,
            _ => folder = Some(PathBuf::from(value)),
        }
    }
    if folder.is_none() {
        let bytes = count * side * side * 4;
        crate::machine::memory::require(
            "image-pipeline",
            input,
            bytes,
            "take fewer or smaller pictures",
        )?;
    }
    Ok(Box::new(Pipeline {
        count,
        side: side as usize,
        radius: radius as usize,
        folder,
        sources: Vec::new(),
        expected: RunAnswer::default(),
        work: 0.0,
    }))
}

/// The digest of the encoded pictures, which come in order.
#[derive(Default)]
struct EncodedDigest {
    digest: Digest,
    pictures: u64,
    pixels: u64,
    /// The first error, and whose.
    error: Option<String>,
}

/// A picture that was filtered, or what was wrong with it.
type Encoded = Result<(u64, Vec<u8>), String>;

impl EncodedDigest {
    fn add(&mut self, encoded: Encoded) {
        match encoded {
            Ok((pixels, bytes)) => {
                bytes.chunks(8).for_each(|chunk| {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    self.digest.word(u64::from_le_bytes(word));
                });
                self.pictures += 1;
                self.pixels += pixels;
            }
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }

    fn answer(&self) -> RunAnswer {
        RunAnswer([self.digest.value(), self.pictures, self.pixels])
    }
}

fn decode(source: &Source) -> Result<Picture, String> {
    picture::decode(&source.bytes).map_err(|error| format!("{}: {error}", source.name))
}

fn encode(what: Filter, pixels: &[u32]) -> Encoded {
    let bytes = picture::encode(what.width, what.height, pixels)?;
    Ok(((what.width * what.height) as u64, bytes))
}

impl Pipeline {
    fn filter(&self, picture: &Picture) -> Filter {
        Filter {
            width: picture.width,
            height: picture.height,
            radius: self.radius,
            threshold: THRESHOLD,
        }
    }

    fn serially(&self, source: &Source) -> Encoded {
        let picture = decode(source)?;
        let what = self.filter(&picture);
        let mut target = vec![0; picture.pixels.len()];
        filter::filter(what, &picture.pixels, &mut target);
        encode(what, &target)
    }

    /// Makes the network of one run: lanes that take turns, each a process that decodes, one that
    /// filters and one that encodes; and one process that takes the pictures in their order.
    fn weave<'env>(
        &'env self,
        network: &mut Network<'env>,
        place: &'env PoolAndDevices<'env>,
        told: &'env Mutex<EncodedDigest>,
    ) {
        let mut lanes = Vec::new();
        for lane in 0..LANES.min(self.sources.len()) {
            let (decoded, to_filter) = network.bounded(format_args!("decoded {lane}"), CAPACITY);
            let (filtered, to_encode) = network.bounded(format_args!("filtered {lane}"), CAPACITY);
            let (encoded, done) = network.bounded(format_args!("encoded {lane}"), CAPACITY);
            let sources = self.sources.iter().skip(lane).step_by(LANES);
            let pair = |picture: Picture| (self.filter(&picture), picture.pixels);
            let read = sources.map(move |source| decode(source).map(pair));
            network.source(format_args!("decode {lane}"), decoded, read);
            let ports = (to_filter, filtered);
            network.process(
                format_args!("filter {lane}"),
                ports,
                async |(mut input, mut out)| {
                    while let Some(picture) = input.recv().await {
                        let filtered = match picture {
                            Ok((what, pixels)) => {
                                Ok((what, steps::filter(place, what, pixels).await))
                            }
                            Err(error) => Err(error),
                        };
                        if out.send(filtered).await.is_err() {
                            break;
                        }
                    }
                },
            );
            let ports = (to_encode, encoded);
            network.process(
                format_args!("encode {lane}"),
                ports,
                async |(mut input, mut out)| {
                    while let Some(picture) = input.recv().await {
                        let encoded = picture.and_then(|(what, pixels): (Filter, Buffer<u32>)| {
                            encode(what, &pixels.into_vec())
                        });
                        if out.send(encoded).await.is_err() {
                            break;
                        }
                    }
                },
            );
            lanes.push(done);
        }
        network.process("tell", lanes, async |mut lanes| {
            for number in 0.. {
                let turn = number % lanes.len();
                let Some(one) = lanes[turn].recv().await else {
                    break;
                };
                told.lock().unwrap_or_else(PoisonError::into_inner).add(one);
            }
        });
    }
}

impl DualProgram for Pipeline {
    fn input(&self) -> String {
        match &self.folder {
            Some(folder) => format!("folder={},radius={}", folder.display(), self.radius),
            None => format!("{},side={},radius={}", self.count, self.side, self.radius),
        }
    }

    fn prepare(&mut self) -> Result<(), CommandFailure> {
        self.sources = match &self.folder {
            Some(folder) => picture::read_all(folder)?,
            None => picture::make_all(self.count, self.side).map_err(CommandFailure::Run)?,
        };
        Ok(())
    }

    fn serial(&mut self) -> Duration {
        let mut told = EncodedDigest::default();
        let start = Instant::now();
        self.sources
            .iter()
            .for_each(|source| told.add(self.serially(source)));
        let time = start.elapsed();
        self.expected = told.answer();
        self.work = told.pixels as f64 * (2.0 * self.radius as f64 + 1.0).powi(2);
        time
    }

    fn run(&self, place: &PoolAndDevices<'_>) -> Result<TimedAnswer, CommandFailure> {
        let told = Mutex::new(EncodedDigest::default());
        let start = Instant::now();
        let mut network = Network::new();
        self.weave(&mut network, place, &told);
        let ran = network.run(place.pool);
        let time = start.elapsed();
        ran.map_err(|error| CommandFailure::Run(format!("image-pipeline: {error}")))?;
        let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
        match told.error {
            Some(error) => Err(CommandFailure::Run(error)),
            None => Ok(TimedAnswer {
                time,
                answer: told.answer(),
            }),
        }
    }

    fn expected(&self) -> RunAnswer {
        self.expected
    }

    fn work(&self) -> f64 {
        self.work
    }

    fn tasks(&self) -> u64 {
        self.sources.len() as u64
    }

    fn items(&self) -> u64 {
        self.expected.0[2]
    }
}
