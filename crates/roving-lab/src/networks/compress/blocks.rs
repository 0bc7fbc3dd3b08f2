//! The leaf code of the pipeline, the same for all that run it: read a block, compress it, write
//! it.
//!
//! Each block becomes an LZ4 frame. Frames behind each other are one LZ4 file, which any `lz4`
//! unpacks.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};

/// A file, block by block; the last may be shorter. It ends with the file, or with an error.
pub(crate) struct Blocks {
    file: Option<File>,
    block_bytes: usize,
}

impl Blocks {
    /// From the beginning of the file at `path`.
    pub(crate) fn open(path: &Path, block_bytes: usize) -> io::Result<Blocks> {
        let file = Some(File::open(path)?);
        Ok(Blocks { file, block_bytes })
    }
}

impl Iterator for Blocks {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let mut block = Vec::with_capacity(self.block_bytes);
        let mut limited = self.file.as_mut()?.take(self.block_bytes as u64);
        match limited.read_to_end(&mut block) {
            Ok(0) => None,
            Ok(_) => Some(Ok(block)),
            Err(error) => {
                self.file = None;
                Some(Err(error))
            }
        }
    }
}

/// A compressor with its memory, which serves block after block. What it makes of a block does not
/// depend on the blocks before.
pub(crate) struct Packer(FrameEncoder<Vec<u8>>);

impl Clone for Packer {
    /// Another one, with memory of its own.
    fn clone(&self) -> Packer {
        Packer::new()
    }
}

impl Packer {
    /// A compressor.
    pub(crate) fn new() -> Packer {
        let info = FrameInfo::new().block_size(BlockSize::Max256KB);
        Packer(FrameEncoder::with_frame_info(info, Vec::new()))
    }

    /// The block as a whole LZ4 frame.
    pub(crate) fn frame(&mut self, block: &[u8]) -> io::Result<Vec<u8>> {
        *self.0.get_mut() = Vec::with_capacity(block.len() / 2 + 64);
        self.0.write_all(block)?;
        self.0.try_finish().map_err(io::Error::other)?;
        Ok(std::mem::take(self.0.get_mut()))
    }
}

/// All of it, one after the other.
pub(crate) fn serially(from: &Path, to: &Path, block_bytes: usize) -> io::Result<()> {
    let mut packer = Packer::new();
    let mut out = File::create(to)?;
    for block in Blocks::open(from, block_bytes)? {
        out.write_all(&packer.frame(&block?)?)?;
    }
    Ok(())
}

/// Whether two files have the same bytes.
pub(crate) fn same(one: &Path, other: &Path) -> io::Result<bool> {
    const AT_ONCE: usize = 1 << 20;
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut ones, mut others) = (Vec::with_capacity(AT_ONCE), Vec::with_capacity(AT_ONCE));
    loop {
        for (file, bytes) in [(&mut one, &mut ones), (&mut other, &mut others)] {
            bytes.clear();
            file.take(AT_ONCE as u64).read_to_end(bytes)?;
        }
        if ones != others || ones.is_empty() {
            return Ok(ones == others);
        }
    }
}

#[cfg(test)]
mod tests {
    use lz4_flex::frame::FrameDecoder;

    use super::super::scratch::Scratch;
    use super::super::text;
    use super::*;

    #[test]
    fn the_file_is_one_that_a_decoder_unpacks() {
        let scratch = Scratch::new().unwrap();
        let (plain, packed) = (scratch.path("plain"), scratch.path("packed"));
        let mut bytes = Vec::new();
        text::write(&mut bytes, 300_000).unwrap();
        std::fs::write(&plain, &bytes).unwrap();
        serially(&plain, &packed, 65_536).unwrap();
        let packed = std::fs::read(&packed).unwrap();
        let (mut rest, mut unpacked, mut frames) = (&packed[..], Vec::new(), 0);
        while !rest.is_empty() {
            FrameDecoder::new(&mut rest)
                .read_to_end(&mut unpacked)
                .unwrap();
            frames += 1;
        }
        assert!(unpacked == bytes, "the bytes differ");
        assert_eq!(frames, 300_000usize.div_ceil(65_536));
        let ratio = bytes.len() as f64 / packed.len() as f64;
        assert!((1.4..4.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn files_that_differ_are_told_apart() {
        let scratch = Scratch::new().unwrap();
        let (a, b) = (scratch.path("a"), scratch.path("b"));
        for (one, other, equal) in [
            ("", "", true),
            ("ab", "ab", true),
            ("ab", "ac", false),
            ("ab", "a", false),
        ] {
            std::fs::write(&a, one).unwrap();
            std::fs::write(&b, other).unwrap();
            assert_eq!(same(&a, &b).unwrap(), equal, "{one} and {other}");
        }
    }
}
