//! `roving top`: what the workers of a running program do.

#[cfg(unix)]
mod screen;
#[cfg(unix)]
mod snapshot;
#[cfg(unix)]
mod source;

use clap::Args;

/// `roving top`.
#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// The number of the program, or its socket [default: the only program that can be watched].
    #[arg(value_name = "PID|SOCKET", allow_hyphen_values = true)]
    pub(crate) program: Option<String>,
    /// Milliseconds between two looks [default: 250].
    #[arg(long, value_name = "MS", allow_hyphen_values = true)]
    pub(crate) every: Option<String>,
    /// Print one look as text, and end.
    #[arg(long)]
    pub(crate) once: bool,
}

/// Between two looks, when the user does not say.
pub(crate) const EVERY_MS_USUAL: u64 = 250;

#[cfg(not(unix))]
pub(crate) fn run(_args: &TopArgs) -> Result<(), crate::io::input::CommandFailure> {
    let why = "`roving top` needs Unix sockets, which this system does not have; ROVING_PROFILE=1 and \
               ROVING_TRACE=FILE work here";
    Err(crate::io::input::CommandFailure::Run(why.to_owned()))
}

#[cfg(unix)]
pub(crate) use watch::run;

#[cfg(unix)]
mod watch {
    use std::io::{self, IsTerminal as _};
    use std::thread;
    use std::time::{Duration, Instant};

    use ratatui::DefaultTerminal;
    use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

    use super::screen::View;
    use super::snapshot::TopAnswer;
    use super::source::{self, TopConnection};
    use super::{EVERY_MS_USUAL, TopArgs};
    use crate::io::input::{CommandFailure, number_in};
    use crate::io::out::show;

    /// Between two looks.
    const EVERY_MS: std::ops::RangeInclusive<u64> = 20..=60_000;

    /// `roving top`.
    pub(crate) fn run(args: &TopArgs) -> Result<(), CommandFailure> {
        let every = args.every.as_deref();
        let every_ms = every.map_or(Ok(EVERY_MS_USUAL), |text| {
            number_in("--every", text, EVERY_MS, "leave it out for 250")
        })?;
        let path = source::find(args.program.as_deref())?;
        let mut source = TopConnection::connect(&path)?;
        if args.once || !io::stdout().is_terminal() {
            return once(&mut source, every_ms);
        }
        let mut terminal = ratatui::try_init()
            .map_err(|error| CommandFailure::Run(format!("no terminal: {error}; try --once")))?;
        let watched = watch(&mut source, &mut terminal, every_ms);
        ratatui::restore();
        match watched? {
            EndedBy::Asked => Ok(()),
            EndedBy::Program => show(format_args!("the program has ended\n")),
        }
    }

    /// Two looks, so that the rates are those of now.
    fn once(source: &mut TopConnection, every_ms: u64) -> Result<(), CommandFailure> {
        let ended = || CommandFailure::Run("the program has ended".to_owned());
        let before = source.ask()?.ok_or_else(ended)?;
        thread::sleep(Duration::from_millis(every_ms));
        let now = source.ask()?.ok_or_else(ended)?;
        let view = View {
            now: &now,
            before: Some(&before),
            every_ms,
            is_paused: false,
        };
        show(format_args!("{}", view.plain()))
    }

    enum EndedBy {
        Asked,
        Program,
    }

    /// Until a key or the program's end.
    fn watch(
        source: &mut TopConnection,
        terminal: &mut DefaultTerminal,
        mut every_ms: u64,
    ) -> Result<EndedBy, CommandFailure> {
        let broken =
            |error: io::Error| CommandFailure::Run(format!("the terminal failed: {error}"));
        let (mut now, mut before): (Option<TopAnswer>, Option<TopAnswer>) = (None, None);
        let mut is_paused = false;
        loop {
            if !is_paused || now.is_none() {
                let Some(next) = source.ask()? else {
                    return Ok(EndedBy::Program);
                };
                before = now.replace(next);
            }
            let look = Instant::now() + Duration::from_millis(every_ms);
            loop {
                if let Some(now) = &now {
                    let view = View {
                        now,
                        before: before.as_ref(),
                        every_ms,
                        is_paused,
                    };
                    terminal.draw(|frame| view.draw(frame)).map_err(broken)?;
                }
                let left = look.saturating_duration_since(Instant::now());
                if !event::poll(left).map_err(broken)? {
                    break;
                }
                let Event::Key(key) = event::read().map_err(broken)? else {
                    continue;
                };
                match of_key(key) {
                    Some(KeyWish::Quit) => return Ok(EndedBy::Asked),
                    Some(KeyWish::Pause) => is_paused = !is_paused,
                    Some(KeyWish::Faster) => every_ms = (every_ms / 2).max(*EVERY_MS.start()),
                    Some(KeyWish::Slower) => every_ms = (every_ms * 2).min(*EVERY_MS.end()),
                    None => {}
                }
            }
        }
    }

    #[derive(Debug, PartialEq, Eq)]
    enum KeyWish {
        Quit,
        Pause,
        Faster,
        Slower,
    }

    fn of_key(key: KeyEvent) -> Option<KeyWish> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                Some(KeyWish::Quit)
            }
            KeyCode::Char('q') | KeyCode::Esc => Some(KeyWish::Quit),
            KeyCode::Char(' ') | KeyCode::Char('p') => Some(KeyWish::Pause),
            KeyCode::Char('+') => Some(KeyWish::Faster),
            KeyCode::Char('-') => Some(KeyWish::Slower),
            _ => None,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn keys_are_wishes() {
            let plain = |code| of_key(KeyEvent::from(code));
            assert_eq!(plain(KeyCode::Char('q')), Some(KeyWish::Quit));
            assert_eq!(plain(KeyCode::Char('+')), Some(KeyWish::Faster));
            assert_eq!(plain(KeyCode::Char('c')), None);
            let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert_eq!(of_key(interrupt), Some(KeyWish::Quit));
        }
    }
}
