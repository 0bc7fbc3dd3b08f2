//! The report: one page that needs nothing else, and a table for each figure.

mod axis;
mod chart;
mod names;

use std::fmt::Write as _;

use super::draw::{exact, number};
use super::figure::{COUNTED, Figure, Judgement, Paper, Sheet, Verdict};
use super::seen::Seen;
use super::spread::Spread;
use super::store::Origin;
use crate::compare::csv::Csv;

/// All that a report says beside its figures.
pub(super) struct Head {
    /// Where the points come from.
    pub(super) origin: Origin,
    /// The words that draw it again, without `roving repro`: size and folder.
    pub(super) words: String,
    /// When the report was made, with which compiler, and how busy the machine was.
    pub(super) moment: String,
    /// Why the figures of this build say little, if they do.
    pub(super) warning: Option<&'static str>,
}

/// Text as HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            other => html.push(other),
        }
    }
    html
}

/// The command that draws a figure again.
pub(super) fn command(head: &Head, name: &str) -> String {
    format!("roving repro {name} {}", head.words)
}

/// What the rule of a figure says of what was seen. Where the runs vary too much, it says nothing.
pub(super) fn judged(figure: &Figure, seen: &Seen<'_>) -> Judgement {
    let measured = seen.points.iter().any(|point| figure.uses(&point.group));
    let missing = if measured {
        "a measurement; what is missing stands below"
    } else {
        "any measurement yet"
    };
    let judgement = (figure.judge)(seen).unwrap_or_else(|| Judgement::missing(missing));
    let decided = matches!(judgement.verdict, Verdict::Holds | Verdict::NotHere);
    let sheets = (figure.sheets)(seen);
    if decided && few(&sheets) {
        return Judgement::few(&judgement.sentence);
    }
    match noise(&sheets) {
        Some(percent) if decided && percent > NOISE_PERCENT => {
            Judgement::noisy(percent, &judgement.sentence)
        }
        _ => judgement,
    }
}

/// How wide the middle half of the runs may be, in percent of the median, for a verdict.
const NOISE_PERCENT: f64 = 50.0;

/// Whether most values of the first sheet come from one or two runs only. What is counted, and not sampled, needs
/// no more than one.
fn few(sheets: &[Sheet]) -> bool {
    let Some(sheet) = sheets.first().filter(|sheet| sheet.y != COUNTED) else {
        return false;
    };
    let few = sheet.rows.iter().filter(|row| row.spread.n < 3).count();
    few * 2 > sheet.rows.len()
}

/// The width of the middle half of the runs in percent of their median: the median over all rows of the first
/// sheet.
fn noise(sheets: &[Sheet]) -> Option<f64> {
    let rows = sheets
        .first()?
        .rows
        .iter()
        .filter(|row| row.spread.n > 2 && row.spread.median != 0.0);
    let widths: Vec<f64> = rows
        .map(|row| (row.spread.width() / row.spread.median).abs() * 100.0)
        .collect();
    Spread::of(&widths).map(|spread| spread.median)
}

/// The page.
pub(super) fn page(head: &Head, figures: &[&Figure], seen: &Seen<'_>) -> String {
    let judgements: Vec<Judgement> = figures.iter().map(|figure| judged(figure, seen)).collect();
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/>\
         <title>Four papers on work stealing, measured again</title>",
    );
    let _ = write!(
        html,
        "<style>{}</style></head><body>",
        include_str!("style.css")
    );
    html.push_str(&top(head, seen, &judgements));
    html.push_str(&overview(figures, &judgements));
    for paper in Paper::ALL {
        let mut ours = figures
            .iter()
            .zip(&judgements)
            .filter(|(figure, _)| figure.paper == paper)
            .peekable();
        if ours.peek().is_none() {
            continue;
        }
        let (word, system) = (paper.word(), escaped(paper.system()));
        let _ = write!(html, "<h2 id=\"{word}\">{system}</h2>");
        let _ = write!(html, "<p class=\"soft\">{}</p>", escaped(paper.citation()));
        for (figure, judgement) in ours {
            html.push_str(&article(head, figure, judgement, seen));
        }
    }
    html + "</body></html>\n"
}

fn badge(verdict: Verdict) -> String {
    format!(
        "<span class=\"badge {}\">{}</span>",
        verdict.class(),
        verdict.words()
    )
}

fn top(head: &Head, seen: &Seen<'_>, judgements: &[Judgement]) -> String {
    let count = |verdict| {
        judgements
            .iter()
            .filter(|one| one.verdict == verdict)
            .count()
    };
    let counts = [
        Verdict::Holds,
        Verdict::NotHere,
        Verdict::TooFewCores,
        Verdict::CannotTell,
    ];
    let counts = counts
        .into_iter()
        .map(|verdict| (verdict, count(verdict)))
        .filter(|one| one.1 > 0);
    let counts: Vec<String> = counts
        .map(|(verdict, count)| format!("{count} {}", badge(verdict)))
        .collect();
    let Origin {
        size,
        machine,
        build,
        commit,
    } = &head.origin;
    let size = match size.as_str() {
        "quick" => {
            "quick: small inputs and few rounds; it shows the shape, the sizes are not the papers'"
        }
        _ => "full: the papers' sizes, but where a figure says otherwise",
    };
    let workers: Vec<String> = seen.plan.workers.iter().map(usize::to_string).collect();
    let mut html = String::from(
        "<header><h1>Four papers on work stealing, measured again</h1>\
         <p>Each figure shows what its paper found, what was measured on this machine, and whether the finding \
         holds here. The verdicts are computed by a fixed rule for each figure, from medians.</p>",
    );
    let _ = write!(html, "<p>{}</p>", counts.join(" &#160; "));
    if let Some(warning) = head.warning {
        let _ = write!(
            html,
            "<p class=\"verdict\"><strong>{}</strong></p>",
            escaped(warning)
        );
    }
    html.push_str("<dl class=\"facts\">");
    for (name, value) in [
        ("Machine", machine.as_str()),
        ("Drawn", &head.moment),
        ("Workers", &workers.join(", ")),
        (
            "Accelerator",
            "none: no figure of the four papers needs one, and this report uses none",
        ),
        ("Size", size),
        ("Commit", commit.as_str()),
        ("Build", build.as_str()),
        ("Command", &command(head, "all")),
    ] {
        let _ = write!(html, "<dt>{name}</dt><dd>{}</dd>", escaped(value));
    }
    html + "</dl></header>"
}

fn overview(figures: &[&Figure], judgements: &[Judgement]) -> String {
    let mut html = String::from(
        "<div class=\"wide\"><table class=\"overview\"><thead><tr><th>Figure</th><th>Verdict</th>\
         <th class=\"sentence\">Why</th></tr></thead><tbody>",
    );
    for (figure, judgement) in figures.iter().zip(judgements) {
        let (name, title) = (figure.name, escaped(figure.title));
        let (badge, sentence) = (badge(judgement.verdict), escaped(&judgement.sentence));
        let _ = write!(
            html,
            "<tr><td><a href=\"#{name}\">{name}</a><br/><span class=\"soft\">{title}</span></td><td>{badge}</td>\
             <td class=\"sentence soft\">{sentence}</td></tr>"
        );
    }
    html + "</tbody></table></div>"
}

fn article(head: &Head, figure: &Figure, judgement: &Judgement, seen: &Seen<'_>) -> String {
    let (name, title) = (figure.name, escaped(figure.title));
    let mut html = format!(
        "<article id=\"{name}\"><header><h3>{title}</h3>{}</header>",
        badge(judgement.verdict)
    );
    let _ = write!(html, "<p class=\"soft\">{}</p>", escaped(figure.source));
    let _ = write!(
        html,
        "<p class=\"verdict\">{}</p><div class=\"sides\">",
        escaped(&judgement.sentence)
    );
    let printed = (figure.printed)();
    let finding = escaped(figure.finding);
    let _ = write!(
        html,
        "<section class=\"paper\"><h4>The paper</h4><p>{finding}</p>"
    );
    let _ = write!(
        html,
        "<p class=\"soft\">Numbers: {}.</p>{}</section>",
        figure.reading.mark(),
        drawn(&printed)
    );
    let measured = (figure.sheets)(seen);
    let _ = write!(
        html,
        "<section class=\"here\"><h4>Here</h4><p>{}</p>",
        escaped(figure.here)
    );
    let charts = drawn(&measured);
    let shown = if charts.is_empty() {
        "<p class=\"soft\">Not measured yet.</p>"
    } else {
        &charts
    };
    let _ = write!(html, "{shown}</section></div>");
    let notes = seen.notes(|group| figure.uses(group));
    if !notes.is_empty() {
        let notes: Vec<String> = notes.into_iter().map(escaped).collect();
        let _ = write!(html, "<p class=\"soft\">{}.</p>", notes.join("; "));
    }
    let _ = write!(
        html,
        "<p class=\"soft\">The rule: {}</p>",
        escaped(figure.rule)
    );
    html.push_str("<details><summary>All numbers</summary><div class=\"wide\">");
    html.push_str(&table(&printed, &measured));
    html.push_str("</div></details>");
    let again = escaped(&command(head, name));
    let _ = write!(
        html,
        "<p class=\"soft\">Draw it again: <code>{again}</code> · <a href=\"{name}.csv\">{name}.csv</a></p>"
    );
    html + "</article>"
}

/// The charts of some sheets, each below its title.
fn drawn(sheets: &[Sheet]) -> String {
    let names = names::Names::of(sheets);
    let mut html = String::new();
    for sheet in sheets {
        if let Some(chart) = chart::chart(sheet, &names) {
            let _ = write!(html, "<h5>{}</h5>{chart}", escaped(&sheet.title));
        }
    }
    html
}

/// The columns of the tables, on the page and in the files.
const HEAD: [&str; 11] = [
    "of",
    "sheet",
    "series",
    "x",
    "unit",
    "n",
    "min",
    "lower_quartile",
    "median",
    "upper_quartile",
    "max",
];

fn table(printed: &[Sheet], measured: &[Sheet]) -> String {
    let mut html = String::from("<table><thead><tr>");
    for (place, name) in HEAD.iter().enumerate() {
        let class = if place >= 5 { " class=\"number\"" } else { "" };
        let _ = write!(html, "<th{class}>{}</th>", name.replace('_', " "));
    }
    html.push_str("</tr></thead><tbody>");
    for fields in rows(printed, measured, number, exact) {
        html.push_str("<tr>");
        for (place, field) in fields.iter().enumerate() {
            let class = if place >= 5 { " class=\"number\"" } else { "" };
            let _ = write!(html, "<td{class}>{}</td>", escaped(field));
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table>"
}

/// All rows of some sheets. A figure of a paper has no sample: only its value stands there.
fn rows(
    printed: &[Sheet],
    measured: &[Sheet],
    write: impl Fn(f64) -> String,
    write_printed: impl Fn(f64) -> String,
) -> Vec<Vec<String>> {
    let all = printed
        .iter()
        .map(|sheet| ("paper", sheet))
        .chain(measured.iter().map(|sheet| ("here", sheet)));
    let mut rows = Vec::new();
    for (of, sheet) in all {
        for row in &sheet.rows {
            let spread = &row.spread;
            let sampled = |value: f64| {
                if spread.n == 0 {
                    String::new()
                } else {
                    write(value)
                }
            };
            let median = if spread.n == 0 {
                write_printed(spread.median)
            } else {
                write(spread.median)
            };
            let n = if spread.n == 0 {
                String::new()
            } else {
                spread.n.to_string()
            };
            let mut fields = vec![
                of.to_owned(),
                sheet.title.clone(),
                row.series.clone(),
                row.x.text(),
                sheet.y.clone(),
                n,
            ];
            fields.extend([sampled(spread.min), sampled(spread.lower), median]);
            fields.extend([sampled(spread.upper), sampled(spread.max)]);
            rows.push(fields);
        }
    }
    rows
}

/// The table of a figure as a file: what the paper printed and what was measured, where and by which command.
pub(super) fn csv(head: &Head, figure: &Figure, seen: &Seen<'_>) -> Csv {
    let mut columns = HEAD.to_vec();
    columns.extend(["reading", "command", "commit", "machine"]);
    let mut csv = Csv::new(&columns);
    let measured = |value: f64| format!("{value:.9}");
    let printed = |value: f64| value.to_string();
    let all = rows(
        &(figure.printed)(),
        &(figure.sheets)(seen),
        measured,
        printed,
    );
    for mut fields in all {
        let reading = if fields[0] == "paper" {
            figure.reading.mark()
        } else {
            "measured"
        };
        fields.extend([reading.to_owned(), command(head, figure.name)]);
        fields.extend([head.origin.commit.clone(), head.origin.machine.clone()]);
        csv.push(fields);
    }
    csv
}

#[cfg(test)]
mod tests;
