//! Text that compresses about as well as a log or a novel does, always the same, made as fast as a
//! disk reads.

use std::io::{self, Write};

use crate::workloads::numbers::Noise;

/// How many different words and phrases there are.
const WORDS: usize = 2000;
const PHRASES: usize = 1200;

/// Writes `bytes` bytes of text.
pub(super) fn write(out: &mut impl Write, bytes: u64) -> io::Result<()> {
    let mut noise = Noise::new(1999);
    let phrases = phrases(&mut noise);
    let mut line = Vec::with_capacity(4096);
    let mut left = bytes;
    let mut number = 0u64;
    while left > 0 {
        line.clear();
        line.extend_from_slice(number.to_string().as_bytes());
        for _ in 0..2 + noise.below(6) {
            line.push(b' ');
            // Small numbers are frequent: a few phrases make up much of the text.
            let rare = noise.below(PHRASES) + 1;
            line.extend_from_slice(&phrases[noise.below(rare)]);
        }
        line.push(b'\n');
        let part = line.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        out.write_all(&line[..part])?;
        left -= part as u64;
        number += 1;
    }
    Ok(())
}

/// Two to nine words each, of two to nine letters each.
fn phrases(noise: &mut Noise) -> Vec<Vec<u8>> {
    let words: Vec<Vec<u8>> = (0..WORDS)
        .map(|_| {
            let letters = 2 + noise.below(8);
            (0..letters).map(|_| b'a' + noise.below(26) as u8).collect()
        })
        .collect();
    let mut phrase = |_| {
        let phrase: Vec<&[u8]> = (0..2 + noise.below(8))
            .map(|_| words[noise.below(WORDS)].as_slice())
            .collect();
        phrase.join(&b' ')
    };
    (0..PHRASES).map(&mut phrase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_as_long_as_asked_for_and_always_the_same() {
        let (mut once, mut again) = (Vec::new(), Vec::new());
        write(&mut once, 100_001).unwrap();
        write(&mut again, 100_001).unwrap();
        assert_eq!(once.len(), 100_001);
        assert!(once == again && once.is_ascii());
        let mut short = Vec::new();
        write(&mut short, 3).unwrap();
        assert_eq!(short, once[..3]);
    }
}
