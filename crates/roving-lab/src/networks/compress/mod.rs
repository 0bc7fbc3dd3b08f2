//! `compress`: a pipeline that a user would write. A file is read block by block, the blocks are
//! compressed side by side, and written in their order. The output is that of a serial run, byte
//! for byte.
//!
//! A source, a stage that keeps the order, and a sink: no numbers, no locks, no place to sort.

pub(crate) mod blocks;
mod scratch;
mod text;

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use roving_flow::{In, Network, Out};

use self::blocks::{Blocks, Packer};
use self::scratch::Scratch;
use super::builder::Builder;
use super::params::{Param, read};
use super::{NetworkEntry, NetworkProgram};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::{RunAnswer, WorkloadKind};

pub(super) const ENTRY: NetworkEntry = NetworkEntry {
    kind: WorkloadKind {
        name: "compress",
        about: "a file is read, compressed in parallel blocks and written, byte for byte as serially",
        inputs: &[
            ("300", "300 MB of text made for it, in blocks of 256 KiB"),
            ("small", "4 MB of it, in blocks of 64 KiB"),
        ],
        params: "megabytes=1 to 1e5, block_kib=1 to 65536, lanes=1 to 1024 compressors, capacity=1 to 1024 \
                 blocks before and behind them, file=PATH instead of text made for it",
        items: "bytes",
        figures: &["bytes in", "bytes out"],
        serial: "read, compress and write, block after block",
    },
    parse: |input| Ok(Box::new(Compress::parse(input)?)),
};

/// A block on its way, or why there is none.
type Block = Result<Vec<u8>, String>;

fn to_text(error: io::Error) -> String {
    error.to_string()
}

/// A file to be compressed, and how.
#[derive(Debug)]
pub(crate) struct Compress {
    megabytes: u64,
    block_kib: u64,
    lanes: u64,
    capacity: u64,
    /// The file that the user named.
    file: Option<PathBuf>,
    files: Option<Files>,
    /// Why the last run of the network broke off.
    wrong: Mutex<Option<String>>,
}

/// Where the bytes are.
#[derive(Debug)]
struct Files {
    plain: PathBuf,
    plain_bytes: u64,
    scratch: Scratch,
}

impl Compress {
    /// Reads a named input or parameters.
    pub(crate) fn parse(input: &str) -> Result<Compress, BadInput> {
        let named = match input {
            "small" => "megabytes=4,block_kib=64",
            other => other,
        };
        let mut compress = Compress {
            megabytes: 300,
            block_kib: 256,
            lanes: 4,
            capacity: 2,
            file: None,
            files: None,
            wrong: Mutex::default(),
        };
        let file = |part: &&str| part.trim().starts_with("file=");
        let path = named.split(',').find(file);
        compress.file = path.map(|path| PathBuf::from(path.trim().trim_start_matches("file=")));
        let rest: Vec<&str> = named.split(',').filter(|part| !file(part)).collect();
        let params = &mut [
            Param::new("megabytes", 1..=100_000, &mut compress.megabytes),
            Param::new("block_kib", 1..=65_536, &mut compress.block_kib),
            Param::new("lanes", 1..=1024, &mut compress.lanes),
            Param::new("capacity", 1..=1024, &mut compress.capacity),
        ];
        if !rest.is_empty() {
            read("compress", &rest.join(","), params)?;
        }
        Ok(compress)
    }

    /// Makes the file, unless the user named one.
    fn make(&mut self) -> io::Result<()> {
        let scratch = Scratch::new()?;
        let plain = match &self.file {
            Some(file) => file.clone(),
            None => {
                let plain = scratch.path("plain.txt");
                let mut out = BufWriter::with_capacity(1 << 20, File::create(&plain)?);
                text::write(&mut out, self.megabytes * 1_000_000)?;
                out.flush()?;
                plain
            }
        };
        let plain_bytes = plain.metadata()?.len();
        self.files = Some(Files {
            plain,
            plain_bytes,
            scratch,
        });
        Ok(())
    }

    fn files(&self) -> &Files {
        self.files.as_ref().expect("prepare made the files")
    }

    /// The file to be compressed.
    pub(crate) fn plain(&self) -> &Path {
        &self.files().plain
    }

    /// Where the output of `who` goes.
    pub(crate) fn out(&self, who: &str) -> PathBuf {
        self.files().scratch.path(&format!("{who}.lz4"))
    }

    /// How many bytes are compressed at once.
    pub(crate) fn block_bytes(&self) -> usize {
        self.block_kib as usize * 1024
    }

    /// Whether `who` wrote what a serial run did.
    pub(crate) fn compare(&self, who: &str) -> Result<(), String> {
        match blocks::same(&self.out("serial"), &self.out(who)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("the file of {who} is not that of the serial run")),
            Err(error) => Err(format!("the file of {who} cannot be compared: {error}")),
        }
    }

    /// Keeps what went wrong first.
    fn broke(&self, error: io::Error) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.get_or_insert(error.to_string());
    }

    /// The processes and channels of one run, on any number of ranks. The first has the files.
    pub(crate) fn weave_in<'env>(&'env self, network: &mut impl Builder<'env>) {
        *self.wrong.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let capacity = self.capacity as usize;
        let (plain, blocks) = network.bounded::<Block>("blocks", capacity);
        let (packed, frames) = network.bounded::<Block>("frames", capacity);
        network.first("read", plain, move |mut plain: Out<Block>| async move {
            let file = Blocks::open(self.plain(), self.block_bytes());
            let file = file.map_err(|error| self.broke(error));
            for block in file.into_iter().flatten() {
                if plain.send(block.map_err(to_text)).await.is_err() {
                    break;
                }
            }
        });
        let mut packer = Packer::new();
        let lanes = self.lanes as usize;
        network.stage("pack", lanes, blocks, packed, move |block: Block| {
            packer.frame(&block?).map_err(to_text)
        });
        network.first("write", frames, move |mut frames: In<Block>| async move {
            let mut out = File::create(self.out("network"));
            while let Some(frame) = frames.recv().await {
                let written = frame.map_err(io::Error::other);
                let written = written.and_then(|frame| match &mut out {
                    Ok(out) => out.write_all(&frame),
                    Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
                });
                written.unwrap_or_else(|error| self.broke(error));
            }
        });
    }

    fn answer_of(&self, out: &Path) -> RunAnswer {
        let written = out.metadata().map_or(0, |data| data.len());
        RunAnswer([self.files().plain_bytes, written, 0])
    }
}

impl NetworkProgram for Compress {
    fn input(&self) -> String {
        let Compress {
            megabytes,
            block_kib,
            lanes,
            capacity,
            ..
        } = self;
        let source = match &self.file {
            Some(file) => format!("file={}", file.display()),
            None => format!("megabytes={megabytes}"),
        };
        format!("{source},block_kib={block_kib},lanes={lanes},capacity={capacity}")
    }

    fn prepare(&mut self) -> Result<(), CommandFailure> {
        if self.files.is_some() {
            return Ok(());
        }
        self.make().map_err(|error| match &self.file {
            Some(file) => {
                let allowed = format!("a file that can be read ({error})");
                let remedy = "leave it out for text made for it";
                BadInput::new("compress file", file.display(), allowed, remedy).into()
            }
            None => CommandFailure::Run(format!("no text could be made to compress: {error}")),
        })
    }

    fn ready(&self, who: &str) {
        // To free an old file takes as long as to compress a part of it. That there is none is no
        // error.
        let _ = std::fs::remove_file(self.out(who));
    }

    fn weave<'env>(&'env self, network: &mut Network<'env>) {
        self.weave_in(network);
    }

    fn answer(&self) -> RunAnswer {
        self.answer_of(&self.out("network"))
    }

    fn serial(&self) -> Result<RunAnswer, CommandFailure> {
        let out = self.out("serial");
        let done = blocks::serially(self.plain(), &out, self.block_bytes());
        done.map_err(|error| CommandFailure::Run(format!("the serial run broke off: {error}")))?;
        Ok(self.answer_of(&out))
    }

    fn check(&self) -> Result<(), String> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        match &*wrong {
            Some(why) => Err(format!("the network broke off: {why}")),
            None => self.compare("network"),
        }
    }

    fn items(&self, answer: &RunAnswer) -> u64 {
        answer.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_back_and_files_are_named() {
        for input in [
            "300",
            "small",
            "2,lanes=1,capacity=9",
            "file=/tmp/x,block_kib=7",
        ] {
            let compress = Compress::parse(input).unwrap();
            let again = Compress::parse(&compress.input()).unwrap();
            assert_eq!(compress.input(), again.input());
        }
        assert!(Compress::parse("block_kib=0").is_err());
        let mut missing = Compress::parse("file=/no/such/file").unwrap();
        let line = missing.prepare().unwrap_err().to_string();
        assert!(
            line.contains("`/no/such/file`") && !line.contains('\n'),
            "{line}"
        );
    }

    #[test]
    fn a_file_that_is_not_the_serial_one_is_refused() {
        let mut compress = Compress::parse("1,block_kib=64").unwrap();
        compress.prepare().unwrap();
        let answer = compress.serial().unwrap();
        assert!(
            answer.0[0] == 1_000_000 && answer.0[1] < 700_000,
            "{answer:?}"
        );
        std::fs::copy(compress.out("serial"), compress.out("network")).unwrap();
        assert_eq!(compress.check(), Ok(()));
        let mut bytes = std::fs::read(compress.out("serial")).unwrap();
        bytes[500_000.min(answer.0[1] as usize / 2)] ^= 1;
        std::fs::write(compress.out("network"), bytes).unwrap();
        assert!(compress.check().is_err());
    }
}
