//! Pictures for the image pipeline: made without files, or read from a folder of PNG files.

use std::path::{Path, PathBuf};

use crate::io::input::BadInput;
use crate::workloads::numbers::Noise;

/// Pixels by rows: red, green, blue and alpha from the lowest byte up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    /// Columns.
    pub(super) width: usize,
    /// Rows.
    pub(super) height: usize,
    /// `width` × `height` of them.
    pub(super) pixels: Vec<u32>,
}

/// A PNG file in memory, and what to call it.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Its path, or which of the made ones it is.
    pub(super) name: String,
    /// All its bytes.
    pub(super) bytes: Vec<u8>,
}

/// The most pixels that one picture may have.
const PIXELS_MAX: usize = 1 << 28;

/// The `number`-th made picture: a gradient, discs with sharp edges, and noise on top, which is
/// what the filter is for. Sides differ from picture to picture, up to `side` and down to a quarter
/// of it.
pub(super) fn made(number: u64, side: usize) -> Picture {
    let mut noise = Noise::new(number);
    let least = (side / 4).max(1);
    let mut length = || least + noise.below(side - least + 1);
    let (width, height) = (length(), length());
    let tint = noise.bits();
    let discs: Vec<[usize; 4]> = (0..12)
        .map(|_| {
            let reach = 1 + noise.below(width.min(height).div_ceil(3));
            [
                noise.below(width),
                noise.below(height),
                reach * reach,
                noise.below(1 << 24),
            ]
        })
        .collect();
    let pixel = |place: usize| {
        let (column, row) = (place % width, place / width);
        let covers = |[x, y, square, _]: &&[usize; 4]| {
            column.abs_diff(*x).pow(2) + row.abs_diff(*y).pow(2) <= *square
        };
        let colour = match discs.iter().rev().find(covers) {
            Some(disc) => disc[3] as u64,
            None => {
                tint & 0x3f_3f3f
                    | (column * 191 / width) as u64
                    | ((row * 191 / height) << 8) as u64
            }
        };
        let grain = noise.bits();
        (0..3).fold(0xff00_0000, |pixel, channel| {
            let value = (colour >> (8 * channel) & 255) as i64;
            let grain = (grain >> (8 * channel) & 31) as i64 - 16;
            pixel | ((value + grain).clamp(0, 255) as u32) << (8 * channel)
        })
    };
    let pixels = (0..width * height).map(pixel).collect();
    Picture {
        width,
        height,
        pixels,
    }
}

/// Reads a PNG file of any kind.
pub(super) fn decode(bytes: &[u8]) -> Result<Picture, String> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let size = reader
        .output_buffer_size()
        .filter(|size| *size <= PIXELS_MAX * 4);
    let size = size.ok_or_else(|| format!("it has more than {PIXELS_MAX} pixels"))?;
    let mut numbers = vec![0; size];
    let frame = reader
        .next_frame(&mut numbers)
        .map_err(|error| error.to_string())?;
    let (width, height) = (frame.width as usize, frame.height as usize);
    let channels = frame.color_type.samples();
    let numbers = &numbers[..frame.buffer_size()];
    let pixel = |one: &[u8]| match *one {
        [grey] => u32::from_le_bytes([grey, grey, grey, 255]),
        [grey, alpha] => u32::from_le_bytes([grey, grey, grey, alpha]),
        [red, green, blue] => u32::from_le_bytes([red, green, blue, 255]),
        [red, green, blue, alpha, ..] => u32::from_le_bytes([red, green, blue, alpha]),
        [] => 0,
    };
    Ok(Picture {
        width,
        height,
        pixels: numbers.chunks_exact(channels).map(pixel).collect(),
    })
}

/// Writes a PNG file with four channels.
pub(super) fn encode(width: usize, height: usize, pixels: &[u32]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(|error| error.to_string())?;
    let numbers: Vec<u8> = pixels
        .iter()
        .flat_map(|pixel| pixel.to_le_bytes())
        .collect();
    let written = writer
        .write_image_data(&numbers)
        .and_then(|()| writer.finish());
    written.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// So many made pictures, as files in memory.
pub(super) fn make_all(count: u64, side: usize) -> Result<Vec<Source>, String> {
    let one = |number| {
        let picture = made(number, side);
        let bytes = encode(picture.width, picture.height, &picture.pixels)?;
        let name = format!("made picture {number}");
        Ok(Source { name, bytes })
    };
    (0..count).map(one).collect()
}

/// All PNG files of a folder, by name.
pub(super) fn read_all(folder: &Path) -> Result<Vec<Source>, BadInput> {
    let refuse = |path: &Path, allowed: String| {
        let remedy = "leave folder out for pictures that are made";
        BadInput::new("image-pipeline folder", path.display(), allowed, remedy)
    };
    let listed = std::fs::read_dir(folder)
        .map_err(|error| refuse(folder, format!("a folder that can be read ({error})")))?;
    let mut paths: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
    });
    paths.sort();
    if paths.is_empty() {
        return Err(refuse(
            folder,
            "a folder with files that end in .png".into(),
        ));
    }
    let read = |path: PathBuf| {
        let wrong = |error: String| refuse(&path, format!("a PNG file that can be read ({error})"));
        let bytes = std::fs::read(&path).map_err(|error| wrong(error.to_string()))?;
        decode(&bytes).map_err(wrong)?;
        let name = path.display().to_string();
        Ok(Source { name, bytes })
    };
    paths.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_read_as_they_were_written() {
        for number in 0..4 {
            let picture = made(number, 90);
            assert!((22..=90).contains(&picture.width) && (22..=90).contains(&picture.height));
            assert_eq!(picture, made(number, 90));
            let bytes = encode(picture.width, picture.height, &picture.pixels).unwrap();
            assert_eq!(decode(&bytes).unwrap(), picture);
        }
        assert_ne!(made(1, 90), made(2, 90));
    }

    #[test]
    fn other_kinds_of_files_become_four_channels() {
        for (colour, depth, bytes, want) in [
            (
                png::ColorType::Grayscale,
                png::BitDepth::Eight,
                vec![7],
                0xff07_0707,
            ),
            (
                png::ColorType::GrayscaleAlpha,
                png::BitDepth::Eight,
                vec![7, 9],
                0x0907_0707,
            ),
            (
                png::ColorType::Rgb,
                png::BitDepth::Eight,
                vec![1, 2, 3],
                0xff03_0201,
            ),
            (
                png::ColorType::Rgb,
                png::BitDepth::Sixteen,
                vec![1, 0, 2, 0, 3, 0],
                0xff03_0201,
            ),
            (
                png::ColorType::Grayscale,
                png::BitDepth::One,
                vec![0x80],
                0xffff_ffff,
            ),
        ] {
            let mut file = Vec::new();
            let mut encoder = png::Encoder::new(&mut file, 1, 1);
            encoder.set_color(colour);
            encoder.set_depth(depth);
            let mut writer = encoder.write_header().unwrap();
            writer.write_image_data(&bytes).unwrap();
            writer.finish().unwrap();
            assert_eq!(
                decode(&file).unwrap().pixels,
                [want],
                "{colour:?} {depth:?}"
            );
        }
    }

    #[test]
    fn what_is_no_picture_is_named() {
        let line = read_all(Path::new("no/such/folder"))
            .unwrap_err()
            .to_string();
        assert!(
            line.contains("`no/such/folder`") && !line.contains('\n'),
            "{line}"
        );
        let folder =
            std::env::temp_dir().join(format!("roving-lab-pictures-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let line = read_all(&folder).unwrap_err().to_string();
        assert!(line.contains("end in .png"), "{line}");
        std::fs::write(folder.join("broken.png"), b"no picture").unwrap();
        let line = read_all(&folder).unwrap_err().to_string();
        assert!(line.contains("broken.png"), "{line}");
        let bytes = make_all(1, 9).unwrap().remove(0).bytes;
        std::fs::write(folder.join("broken.png"), bytes).unwrap();
        assert_eq!(read_all(&folder).unwrap().len(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
