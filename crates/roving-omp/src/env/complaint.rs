//! How programs are told that something is wrong, in libgomp's words.

/// As libgomp says it of itself: programs look for the name.
const PREFIX: &str = "\nlibgomp: ";

/// Says what is wrong, as libgomp does.
pub(crate) fn warn(text: &str) {
    eprintln!("{PREFIX}{text}");
}

/// Says what is wrong, and ends the program.
pub(crate) fn stop(text: &str) -> ! {
    warn(text);
    std::process::exit(1)
}

/// The variable's value cannot be read.
pub(super) fn invalid(name: &str) {
    warn(&format!("Invalid value for environment variable {name}"));
}
