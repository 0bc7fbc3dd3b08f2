//! The report: one page that needs nothing else, and a table for each figure.

mod axis;
mod chart;
mod html;
mod names;

use std::fmt::Write as _;

use self::html::escaped;
use super::draw::exact;
use super::figure::{Asker, Figure, Paper, Sheet};
use super::seen::SeenPoints;
use super::spread::number;
use super::store::Origin;
use super::verdict::{FindingVerdict, Judgement};
use crate::io::csv::Csv;

/// All that a report says beside its figures.
pub(super) struct PageHead {
    /// Where the points come from.
    pub(super) origin: Origin,
    /// The words that draw it again, without `roving repro`: size and folder.
    pub(super) words: String,
    /// When the report was made, with which compiler, and how busy the machine was.
    pub(super) moment: String,
    /// Why the figures of this build say little, if they do.
    pub(super) warning: Option<&'static str>,
}

/// The command that draws a figure again.
pub(super) fn command(head: &PageHead, name: &str) -> String {
    format!("roving repro {name} {}", head.words)
}

/// Judges the measurements by the rule of a figure.
pub(super) fn judged(figure: &Figure, seen: &SeenPoints<'_>) -> Judgement {
    let measured = seen.points.iter().any(|point| figure.uses(&point.group));
    let missing = if measured {
        "a measurement; what is missing stands below"
    } else {
        "any measurement yet"
    };
    (figure.judge)(seen).unwrap_or_else(|| Judgement::missing(missing))
}

/// The page.
pub(super) fn page(head: &PageHead, figures: &[&Figure], seen: &SeenPoints<'_>) -> String {
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
    html.push_str(&top(head, seen, &counts(figures, &judgements)));
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

fn badge(verdict: FindingVerdict) -> String {
    format!(
        "<span class=\"badge {}\">{}</span>",
        verdict.class(),
        verdict.words()
    )
}

/// How many verdicts there are of each kind: first of what the papers ask, then of what we ask.
pub(super) fn counted(
    figures: &[&Figure],
    judgements: &[Judgement],
    asker: Asker,
) -> Vec<(FindingVerdict, usize)> {
    let asked = figures.iter().zip(judgements);
    let asked: Vec<FindingVerdict> = asked
        .filter(|(figure, _)| figure.asker == asker)
        .map(|(_, judgement)| judgement.verdict)
        .collect();
    let count = |verdict| asked.iter().filter(|one| **one == verdict).count();
    let counts = FindingVerdict::ALL.map(|verdict| (verdict, count(verdict)));
    counts.into_iter().filter(|one| one.1 > 0).collect()
}

/// The counts as HTML.
fn counts(figures: &[&Figure], judgements: &[Judgement]) -> String {
    let mut html = String::new();
    for (asker, words) in [
        (Asker::Paper, "What the papers state"),
        (
            Asker::Ours,
            "What we ask of plots of which the papers say nothing",
        ),
    ] {
        let counts = counted(figures, judgements, asker).into_iter();
        let counts: Vec<String> = counts
            .map(|(verdict, count)| format!("{count} {}", badge(verdict)))
            .collect();
        let _ = write!(html, "<p>{words}: {}</p>", counts.join(" &#160; "));
    }
    html
}

fn top(head: &PageHead, seen: &SeenPoints<'_>, counts: &str) -> String {
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
         holds here. The verdicts are computed by a fixed rule for each figure: each number of a rule has an interval \
         (99 % of a bootstrap of the runs, and an allowance for what differs from one invocation to the next), and \
         where that lies across the rule's line, the verdict is “cannot tell”.</p>",
    );
    html.push_str(counts);
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

fn article(
    head: &PageHead,
    figure: &Figure,
    judgement: &Judgement,
    seen: &SeenPoints<'_>,
) -> String {
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
    html.push_str(&claims(judgement));
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

/// The numbers that decided, as a table.
fn claims(judgement: &Judgement) -> String {
    if judgement.claims.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<details><summary>What decided</summary><div class=\"wide\"><table><thead><tr><th>number</th>\
         <th>seen, with its interval</th><th>line</th><th>answer</th></tr></thead><tbody>",
    );
    for claim in &judgement.claims {
        let fields = [
            claim.what.clone(),
            claim.interval.text(),
            claim.line.text(),
            claim.answer().word().to_owned(),
        ];
        let fields = fields.map(|field| format!("<td>{}</td>", escaped(&field)));
        let _ = write!(html, "<tr>{}</tr>", fields.concat());
    }
    html + "</tbody></table></div></details>"
}

/// All verdicts as data: one row for each claim of each figure.
pub(super) fn verdicts(figures: &[&Figure], seen: &SeenPoints<'_>) -> Csv {
    let mut csv = Csv::new(&[
        "figure", "asked_by", "verdict", "rule", "claim", "n", "seen", "low", "high", "line",
        "answer",
    ]);
    for figure in figures {
        let judgement = judged(figure, seen);
        let asker = match figure.asker {
            Asker::Paper => "paper",
            Asker::Ours => "us",
        };
        let head = [
            figure.name,
            asker,
            judgement.verdict.words(),
            judgement.rule.word(),
        ];
        let head = head.map(str::to_owned).to_vec();
        if judgement.claims.is_empty() {
            let rest = vec![String::new(); 7];
            csv.push([head.clone(), rest].concat());
        }
        for claim in &judgement.claims {
            let interval = &claim.interval;
            let numbers = [interval.seen, interval.low, interval.high];
            let mut row = head.clone();
            row.push(claim.what.clone());
            row.push(interval.n.map_or("counted".to_owned(), |n| n.to_string()));
            row.extend(numbers.map(|value| format!("{value:.6}")));
            row.extend([claim.line.text(), claim.answer().word().to_owned()]);
            csv.push(row);
        }
    }
    csv
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

/// The table of a figure as a file: what the paper printed and what was measured, where and by
/// which command.
pub(super) fn csv(head: &PageHead, figure: &Figure, seen: &SeenPoints<'_>) -> Csv {
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
