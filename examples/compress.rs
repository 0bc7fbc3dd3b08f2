//! Compresses a file with all workers, block by block, in little memory.
//!
//! ```text
//! cargo run --release --example compress -- FILE FILE.lz4     # then: lz4 -d FILE.lz4
//! cargo run --release --example compress                      # numbers of its own
//! ```
//!
//! A network of three steps: one process reads, as many as there are workers compress, one writes,
//! in the order in which was read. At most a few blocks are between them, however large the file
//! is. Any of them may fail: then the others end, and the error is that of the run.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

use lz4_flex::frame::FrameEncoder;
use roving::Pool;
use roving_examples::{Failure, Words, random};
use roving_flow::Network;

const USAGE: &str = "compress [FILE [COMPRESSED]]      default: 64 MiB of its own, written nowhere";

/// Bytes of a block, and blocks that may wait between two steps.
const BLOCK: usize = 1 << 20;
const WAITING: usize = 4;

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let (from, to) = (words.path(), words.path());
    words.end()?;
    let from: Box<dyn Read + Send> = match &from {
        Some(path) => Box::new(File::open(path).map_err(|e| format!("`{}`: {e}", path.display()))?),
        None => Box::new(Lines::new(64)),
    };
    let to: Box<dyn Write + Send> = match &to {
        Some(path) => {
            Box::new(File::create(path).map_err(|e| format!("`{}`: {e}", path.display()))?)
        }
        None => Box::new(io::sink()),
    };
    let mut to = BufWriter::new(to);
    let (read, written) = compress(from, &mut to)?;
    to.flush()?;
    writeln!(out, "{read} bytes became {written}")?;
    Ok(())
}

/// Returns how many bytes were read, and written.
fn compress(from: impl Read + Send, to: &mut (impl Write + Send)) -> Result<(u64, u64), Failure> {
    let (mut read, mut written) = (0, 0);
    let mut network = Network::new();
    let (out, blocks) = network.bounded("blocks", WAITING);
    let (done, packed) = network.bounded("packed", WAITING);
    let counted = Blocks(from).inspect(|block| read += block.as_ref().map_or(0, Vec::len) as u64);
    network.try_source("read", out, counted);
    network.try_stage("pack", roving::current_workers(), blocks, done, pack);
    network.try_sink("write", packed, |block: Vec<u8>| {
        written += block.len() as u64;
        to.write_all(&block)
    });
    network.run(&Pool::current())?;
    Ok((read, written))
}

/// The block as an LZ4 file of its own: many of them in a row are an LZ4 file as well.
fn pack(block: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let mut encoder = FrameEncoder::new(Vec::new());
    encoder.write_all(&block)?;
    Ok(encoder.finish()?)
}

/// The bytes of a reader, in blocks.
struct Blocks<R>(R);

impl<R: Read> Iterator for Blocks<R> {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let mut block = Vec::with_capacity(BLOCK);
        match self.0.by_ref().take(BLOCK as u64).read_to_end(&mut block) {
            Ok(0) => None,
            Ok(_) => Some(Ok(block)),
            Err(error) => Some(Err(error)),
        }
    }
}

/// So many MiB of lines with a number each.
struct Lines {
    left: usize,
    next: u64,
}

impl Lines {
    fn new(mebibytes: usize) -> Lines {
        Lines {
            left: mebibytes << 20,
            next: 0,
        }
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.left);
        for line in buffer[..length].chunks_mut(32) {
            let text = format!("{:>31}\n", random(self.next / 2) % 1_000_000);
            line.copy_from_slice(&text.as_bytes()[..line.len()]);
            self.next += 1;
        }
        self.left -= length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use lz4_flex::frame::FrameDecoder;

    use super::*;

    fn unpacked(mut packed: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        while !packed.is_empty() {
            FrameDecoder::new(&mut packed)
                .read_to_end(&mut all)
                .unwrap();
        }
        all
    }

    #[test]
    fn what_was_packed_comes_back() {
        for length in [0, 1, BLOCK - 1, BLOCK, 5 * BLOCK + 3] {
            let data: Vec<u8> = (0..length)
                .map(|n| (random(n as u64 / 9) >> 60) as u8)
                .collect();
            let mut packed = Vec::new();
            let (read, written) = compress(&*data, &mut packed).unwrap();
            assert_eq!((read, written), (length as u64, packed.len() as u64));
            assert!(unpacked(&packed) == data);
        }
    }

    /// Fails after some blocks, in either direction.
    struct Breaks(usize);

    impl Breaks {
        fn go_on(&mut self, bytes: usize) -> io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes)
                .ok_or_else(|| io::Error::other("as asked"))?;
            Ok(bytes)
        }
    }

    impl Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.go_on(buffer.len())
        }
    }

    impl Write for Breaks {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.go_on(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_error_ends_it_and_says_where() {
        let error = compress(Breaks(3 * BLOCK), &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("`read`"), "{error}");
        // Endless input.
        let error = compress(io::repeat(7), &mut Breaks(BLOCK)).unwrap_err();
        assert!(error.to_string().contains("`write`"), "{error}");
    }

    #[test]
    fn the_program_says_how_much() {
        let path = std::env::temp_dir().join(format!("roving-compress-{}", std::process::id()));
        let name = path.to_str().unwrap().to_owned();
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/compress.rs");
        let text = roving_examples::output(program, &[this, &name]).unwrap();
        let (data, packed) = (std::fs::read(this).unwrap(), std::fs::read(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            text,
            format!("{} bytes became {}\n", data.len(), packed.len())
        );
        assert!(unpacked(&packed) == data);
        let error = roving_examples::output(program, &["no-such-file"]).unwrap_err();
        assert!(error.to_string().starts_with("`no-such-file`: "));
    }
}
