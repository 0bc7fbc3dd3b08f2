//! One picture of a program: as text for `--once`, and on a terminal.

use std::fmt::Write as _;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;

use super::snapshot::{PoolShot, RATE_NAMES, Rates, TopAnswer};
use crate::io::figures::counted;
use crate::job::report::{STATES, bar, widths};

/// The view: an answer, and the one before it.
pub(super) struct View<'s> {
    pub(super) now: &'s TopAnswer,
    pub(super) before: Option<&'s TopAnswer>,
    pub(super) every_ms: u64,
    pub(super) is_paused: bool,
}

/// Characters of a full bar.
const BAR: usize = 30;
const COLOURS: [Color; 5] = [
    Color::Green,
    Color::Blue,
    Color::Magenta,
    Color::Yellow,
    Color::DarkGray,
];

/// A seat with what it did, in the order of the seats.
fn lines(pool: &PoolShot, rates: &[Rates]) -> Vec<(String, String, Rates)> {
    let seats = pool.seats.iter().zip(rates).enumerate();
    let present = seats.filter(|(index, (_, rates))| {
        *index < pool.workers || rates.shares.iter().any(|share| *share > 0.0)
    });
    present
        .map(|(index, (seat, rates))| {
            let name = match index.checked_sub(pool.workers) {
                None => format!("worker {index}"),
                Some(spare) => format!("spare {spare}"),
            };
            (name, seat.doing.clone(), rates.clone())
        })
        .collect()
}

/// `950`, `12.3 k`, `4.56 M`.
fn short(number: f64) -> String {
    match number {
        n if n < 1e3 => format!("{n:.0}"),
        n if n < 1e6 => format!("{:.1} k", n / 1e3),
        n if n < 1e9 => format!("{:.2} M", n / 1e6),
        n => format!("{:.2} G", n / 1e9),
    }
}

fn title(pool: &PoolShot) -> String {
    let workers = counted(pool.workers, "worker");
    format!("pool `{}` · {workers} · {:.1} s", pool.name, pool.wall_s)
}

fn heads() -> String {
    let mut heads = format!("  {:<11}{:<8}{:<BAR$}  {:>6}", "", "now", "", "busy");
    for name in RATE_NAMES {
        let _ = write!(heads, " {:>9}", format!("{name}/s"));
    }
    heads
}

/// The figures to the right of the bar.
fn figures(rates: &Rates) -> String {
    let mut figures = format!("  {:>4.0} %", rates.shares[0] * 100.0);
    for rate in rates.per_s {
        let _ = write!(figures, " {:>9}", short(rate));
    }
    figures
}

impl View<'_> {
    fn rates(&self, place: usize, pool: &PoolShot) -> Vec<Rates> {
        let before = self.before.and_then(|before| before.pool_like(place, pool));
        pool.since(before)
    }

    /// Without a terminal.
    pub(super) fn plain(&self) -> String {
        let mut text = format!("program {}\n", self.now.pid);
        for (place, pool) in self.now.pools.iter().enumerate() {
            let _ = writeln!(text, "{}\n{}", title(pool), heads());
            for (name, doing, rates) in lines(pool, &self.rates(place, pool)) {
                let bar = bar(STATES.map(|(_, mark)| mark), rates.shares, BAR);
                let _ = writeln!(text, "  {name:<11}{doing:<8}{bar:<BAR$}{}", figures(&rates));
            }
        }
        if self.now.pools.is_empty() {
            text.push_str("no pool now\n");
        }
        text
    }

    /// On a terminal.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let faint = Style::new().fg(Color::DarkGray);
        let mut text = Text::default();
        for (place, pool) in self.now.pools.iter().enumerate() {
            text.push_line(Line::styled(title(pool), bold));
            text.push_line(Line::styled(heads(), faint));
            for (name, doing, rates) in lines(pool, &self.rates(place, pool)) {
                let state = STATES.iter().position(|(name, _)| *name == doing);
                let colour = state.map_or(Color::Reset, |state| COLOURS[state]);
                let mut line = Line::from(format!("  {name:<11}"));
                line.push_span(Span::styled(format!("{doing:<8}"), colour));
                let bar = STATES.iter().zip(widths(rates.shares, BAR)).zip(COLOURS);
                let mut drawn = 0;
                for (((_, mark), width), colour) in bar {
                    let part: String = std::iter::repeat_n(*mark, width).collect();
                    line.push_span(Span::styled(part, colour));
                    drawn += width;
                }
                line.push_span(" ".repeat(BAR.saturating_sub(drawn)));
                line.push_span(figures(&rates));
                text.push_line(line);
            }
            text.push_line("");
        }
        if self.now.pools.is_empty() {
            text.push_line("no pool now");
        }
        let [head, body, foot] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Min(1),
            Constraint::Length(2),
        ])
        .areas(frame.area());
        let state = if self.is_paused { "paused" } else { "live" };
        let first = format!("roving top · program {} · {state}", self.now.pid);
        frame.render_widget(Paragraph::new(Line::styled(first, bold)), head);
        frame.render_widget(Paragraph::new(text), body);
        frame.render_widget(Paragraph::new(self.foot(faint)), foot);
    }

    fn foot(&self, faint: Style) -> Text<'static> {
        let mut legend = Line::default();
        for ((name, mark), colour) in STATES.iter().zip(COLOURS) {
            legend.push_span(Span::styled(format!("{mark} {name}  "), colour));
        }
        let every = self.every_ms;
        let keys = format!("q quit · space pause · + - faster, slower (now every {every} ms)");
        Text::from(vec![legend, Line::styled(keys, faint)])
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn snapshot() -> TopAnswer {
        let line = r#"{"pid":41,"pools":[{"name":"search","workers":2,"wall_s":2.0,"seats":[
            {"doing":"busy","busy_s":2,"steal_s":0,"idle_s":0,"switch_s":0,"frame_s":0,"tasks":2000000,
             "steals_tried":10,"steals_won":4,"tasks_stolen":4,"parks":0,"wakes":2},
            {"doing":"idle","busy_s":0.5,"steal_s":0.5,"idle_s":1,"switch_s":0,"frame_s":0,"tasks":0,
             "steals_tried":0,"steals_won":0,"tasks_stolen":0,"parks":0,"wakes":0},
            {"doing":"frame","busy_s":0,"steal_s":0,"idle_s":0,"switch_s":0,"frame_s":0,"tasks":0,
             "steals_tried":0,"steals_won":0,"tasks_stolen":0,"parks":0,"wakes":0}]}]}"#;
        serde_json::from_str(line).unwrap()
    }

    #[test]
    fn text_and_screen_say_the_same() {
        let now = snapshot();
        let view = View {
            now: &now,
            before: None,
            every_ms: 250,
            is_paused: false,
        };
        let plain = view.plain();
        assert!(
            plain.contains("pool `search` · 2 workers · 2.0 s"),
            "{plain}"
        );
        assert!(
            plain.contains("1.00 M") && plain.contains(" 100 %"),
            "{plain}"
        );
        assert!(!plain.contains("spare"), "it was never started: {plain}");
        let mut terminal = Terminal::new(TestBackend::new(130, 12)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        let screen = terminal.backend().to_string();
        for line in plain.lines().skip(1) {
            assert!(screen.contains(line.trim_end()), "{line}\n{screen}");
        }
        assert!(screen.contains("q quit"));
    }

    #[test]
    fn a_bar_is_never_too_long() {
        for shares in [
            [0.2; 5],
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0; 5],
            [0.33, 0.33, 0.0, 0.0, 0.34],
        ] {
            let drawn: usize = widths(shares, BAR).iter().sum();
            assert!(
                drawn == BAR || shares == [0.0; 5] && drawn == 0,
                "{shares:?}"
            );
        }
    }
}
