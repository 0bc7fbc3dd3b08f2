//! A picture of a network, coloured by load and traffic: `--graph`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use crate::io::input::{BadInput, CommandFailure};

/// A file that waits for its picture.
pub(super) struct Picture {
    file: File,
    draw: fn(&roving_flow::Report) -> String,
}

impl Picture {
    /// Makes the file; its ending says what it will hold.
    pub(super) fn open(path: &Path) -> Result<Picture, BadInput> {
        let wrong =
            |allowed: &str, remedy: &str| BadInput::new("--graph", path.display(), allowed, remedy);
        let draw = match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => roving_flow::Report::to_svg,
            Some("dot" | "gv") => roving_flow::Report::to_dot,
            _ => {
                return Err(wrong(
                    "a file that ends in .svg, .dot or .gv",
                    "write network.svg",
                ));
            }
        };
        let file = File::create(path).map_err(|error| {
            let allowed = format!("a file that can be written ({error})");
            wrong(&allowed, "take a folder that exists")
        })?;
        Ok(Picture { file, draw })
    }

    /// Draws the network as it ran.
    pub(super) fn write(mut self, report: &roving_flow::Report) -> Result<(), CommandFailure> {
        let text = (self.draw)(report);
        let written = self.file.write_all(text.as_bytes());
        written
            .map_err(|error| CommandFailure::Run(format!("the picture was not written: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_picture_is_named() {
        for path in ["network.png", "network", "/no/such/folder/network.svg"] {
            let line = Picture::open(Path::new(path)).err().unwrap().to_string();
            assert!(line.contains(path) && !line.contains('\n'), "{line}");
        }
    }
}
