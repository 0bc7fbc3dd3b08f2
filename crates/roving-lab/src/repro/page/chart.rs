//! Charts as SVG for a page: they take their colours from the page's style, so that one chart
//! serves light, dark and paper, and they are narrow enough to be read on a phone.

use std::fmt::Write as _;

use super::axis::{AxisScale, apart};
use super::html::escaped;
use super::names::{COLOURS, Names};
use crate::repro::draw::exact;
use crate::repro::figure::{FigureRow, Form, Sheet, X};
use crate::repro::spread::number;

/// The width of each chart in its own units; about as many pixels as a phone has.
const WIDTH: f64 = 360.0;
/// Room at the left for marks, at the right, and at the top.
const LEFT: f64 = 42.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
/// How high the part with the curves is.
const HEIGHT: f64 = 190.0;
/// Room below it for marks and the name of the axis.
const BELOW: f64 = 40.0;

/// A value beside its mark.
fn value_of(row: &FigureRow) -> String {
    let write = if row.spread.n == 0 { exact } else { number };
    write(row.spread.median)
}

/// The chart of a sheet with its legend as HTML; nothing for a sheet without rows.
pub(super) fn chart(sheet: &Sheet, names: &Names<'_>) -> Option<String> {
    if sheet.rows.is_empty() {
        return None;
    }
    let (svg, legend) = match sheet.form {
        Form::Lines | Form::LogLines | Form::LogLog => (lines(sheet, names), true),
        Form::Bars | Form::LogBars => (bars(sheet, names), sheet.series().len() > 1),
        Form::Stacks => (stacks(sheet, names), true),
        Form::Boxes => (boxes(sheet), false),
    };
    let legend = if legend {
        legend_of(sheet, names)
    } else {
        String::new()
    };
    Some(format!("<figure>{svg}{legend}</figure>"))
}

/// A number as an attribute: two places are enough.
fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn open(sheet: &Sheet, height: f64) -> String {
    let label = escaped(&format!("{}: {}", sheet.title, sheet.y));
    format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{label}\">",
        px(WIDTH),
        px(height)
    )
}

fn text(svg: &mut String, at: (f64, f64), class: &str, anchor: &str, words: &str) {
    let class = if class.is_empty() {
        String::new()
    } else {
        format!(" class=\"{class}\"")
    };
    let (x, y, words) = (px(at.0), px(at.1), escaped(words));
    let _ = write!(
        svg,
        "<text x=\"{x}\" y=\"{y}\"{class} text-anchor=\"{anchor}\">{words}</text>"
    );
}

fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(px);
    let _ = write!(
        svg,
        "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
    );
}

/// A rectangle with a title that is shown when one points at it.
fn rectangle(svg: &mut String, class: &str, at: (f64, f64), size: (f64, f64), title: &str) {
    let [x, y, width, height] = [at.0, at.1, size.0.max(0.5), size.1].map(px);
    let title = escaped(title);
    let _ = write!(
        svg,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"><title>{title}</title></rect>"
    );
}

/// One of four shapes, so that curves differ on grey paper as well.
fn mark(svg: &mut String, series: usize, at: (f64, f64), title: &str) {
    let colour = series % COLOURS;
    let (x, y) = at;
    let path = match series % 4 {
        0 => format!(
            "M{} {}a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z",
            px(x - 3.4),
            px(y)
        ),
        1 => format!("M{} {}h6v6h-6z", px(x - 3.0), px(y - 3.0)),
        2 => format!("M{} {}l4 7h-8z", px(x), px(y - 4.4)),
        _ => format!("M{} {}l4.2 4.2l-4.2 4.2l-4.2 -4.2z", px(x), px(y - 4.2)),
    };
    let title = escaped(title);
    let _ = write!(
        svg,
        "<path class=\"f{colour}\" d=\"{path}\"><title>{title}</title></path>"
    );
}

fn legend_of(sheet: &Sheet, names: &Names<'_>) -> String {
    let mut html = String::from("<ul class=\"legend\">");
    for name in sheet.series() {
        let mut key = String::from("<svg viewBox=\"0 0 18 12\" aria-hidden=\"true\">");
        match sheet.form {
            Form::Lines | Form::LogLines | Form::LogLog => {
                line(
                    &mut key,
                    &format!("curve l{}", names.colour(name)),
                    (0.0, 6.0),
                    (18.0, 6.0),
                );
                mark(&mut key, names.place(name), (9.0, 6.0), name);
            }
            _ => rectangle(
                &mut key,
                &format!("f{}", names.colour(name)),
                (2.0, 0.0),
                (12.0, 12.0),
                name,
            ),
        }
        key.push_str("</svg>");
        let _ = write!(html, "<li>{key}{}</li>", escaped(name));
    }
    html + "</ul>"
}

/// The text for a value under the pointer.
fn said(sheet: &Sheet, row: &FigureRow) -> String {
    let (spread, unit) = (&row.spread, &sheet.y);
    let value = number(spread.median);
    let place = format!("{}, {}", row.series, row.x.text());
    if spread.n == 0 {
        return format!("{place}: {} {unit}", value_of(row));
    }
    let (lower, upper) = (number(spread.lower), number(spread.upper));
    format!(
        "{place}: {value} {unit} (quartiles {lower} and {upper}, n = {})",
        spread.n
    )
}

/// The marks of the y axis, with lines across.
fn grid(svg: &mut String, sheet: &Sheet, y: &AxisScale, right: f64) {
    for mark in y.marks(5) {
        line(svg, "grid", (LEFT, y.at(mark)), (right, y.at(mark)));
        text(
            svg,
            (LEFT - 6.0, y.at(mark) + 4.0),
            "soft",
            "end",
            &number(mark),
        );
    }
    text(svg, (2.0, TOP + 4.0), "soft", "start", &sheet.y);
}

fn lines(sheet: &Sheet, names: &Names<'_>) -> String {
    let top = TOP + 16.0;
    let (right, bottom) = (WIDTH - RIGHT, top + HEIGHT);
    let place = |row: &FigureRow| match &row.x {
        X::Number(number) => *number,
        X::Word(_) => 0.0,
    };
    let places = || sheet.rows.iter().map(place);
    let inner = (LEFT + 10.0, right - 10.0);
    let x = match sheet.form {
        Form::Lines => AxisScale::spanning(places(), inner.0, inner.1),
        _ => AxisScale::logarithmic(places(), inner.0, inner.1, false),
    };
    let ends = || {
        sheet
            .rows
            .iter()
            .flat_map(|row| [row.spread.lower, row.spread.upper])
    };
    let y = match sheet.form {
        Form::LogLog => AxisScale::logarithmic(ends(), bottom, top, true),
        _ => AxisScale::linear(ends(), bottom, top),
    };
    let mut svg = open(sheet, bottom + BELOW);
    grid(&mut svg, sheet, &y, right);
    line(&mut svg, "axis", (LEFT, bottom), (right, bottom));
    let mut ticks: Vec<f64> = places().collect();
    ticks.sort_unstable_by(f64::total_cmp);
    ticks.dedup();
    let pixels: Vec<f64> = ticks.iter().map(|tick| x.at(*tick)).collect();
    for kept in apart(&pixels, 34.0) {
        line(
            &mut svg,
            "axis",
            (pixels[kept], bottom),
            (pixels[kept], bottom + 4.0),
        );
        text(
            &mut svg,
            (pixels[kept], bottom + 17.0),
            "soft",
            "middle",
            &number(ticks[kept]),
        );
    }
    text(
        &mut svg,
        ((LEFT + right) / 2.0, bottom + 34.0),
        "soft",
        "middle",
        &sheet.x,
    );
    for name in sheet.series() {
        let mut rows: Vec<&FigureRow> =
            sheet.rows.iter().filter(|row| row.series == name).collect();
        rows.sort_by(|one, other| place(one).total_cmp(&place(other)));
        let points: Vec<(f64, &FigureRow)> = rows
            .into_iter()
            .map(|row| (x.at(place(row)), row))
            .collect();
        curve(&mut svg, sheet, names.place(name), &points, &y);
    }
    svg + "</svg>"
}

/// One curve with its quartiles and marks; each row comes with its pixel on the x axis.
fn curve(
    svg: &mut String,
    sheet: &Sheet,
    order: usize,
    points: &[(f64, &FigureRow)],
    y: &AxisScale,
) {
    let through = points
        .iter()
        .map(|(x, row)| format!("{},{}", px(*x), px(y.at(row.spread.median))));
    let through = through.collect::<Vec<_>>().join(" ");
    let colour = order % COLOURS;
    let dashes = if order >= 4 {
        " stroke-dasharray=\"6 3\""
    } else {
        ""
    };
    let _ = write!(
        svg,
        "<polyline class=\"curve l{colour}\"{dashes} points=\"{through}\"/>"
    );
    for (x, row) in points {
        let spread = &row.spread;
        if spread.n > 1 {
            line(
                svg,
                "whisker",
                (*x, y.at(spread.lower)),
                (*x, y.at(spread.upper)),
            );
        }
        mark(svg, order, (*x, y.at(spread.median)), &said(sheet, row));
    }
}

/// The places on the axis in the order of their first rows.
fn words(sheet: &Sheet) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for row in &sheet.rows {
        let word = row.x.text();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn bars(sheet: &Sheet, names: &Names<'_>) -> String {
    let (series, words) = (sheet.series(), words(sheet));
    let (thick, room) = (13.0, 58.0);
    let ends = || {
        sheet
            .rows
            .iter()
            .flat_map(|row| [row.spread.lower, row.spread.upper])
    };
    let x = match sheet.form {
        Form::LogBars => {
            // One step below the least, or its bar would have no length.
            let below = ends()
                .filter(|end| *end > 0.0)
                .fold(f64::INFINITY, f64::min)
                / 2.0;
            AxisScale::logarithmic(ends().chain([below]), 0.0, WIDTH - room, true)
        }
        _ => AxisScale::linear(ends(), 0.0, WIDTH - room),
    };
    let mut body = String::new();
    let mut y = 14.0;
    text(&mut body, (0.0, y), "soft", "start", &sheet.y);
    for word in &words {
        y += 20.0;
        text(&mut body, (0.0, y), "", "start", word);
        y += 5.0;
        for name in &series {
            let mut rows = sheet
                .rows
                .iter()
                .filter(|row| row.series == *name && row.x.text() == *word);
            let Some(row) = rows.next() else { continue };
            let colour = names.colour(name);
            bar(&mut body, sheet, row, colour, &x, (y, thick));
            y += thick + 2.0;
        }
    }
    let mut svg = open(sheet, y + 8.0);
    svg.push_str(&body);
    svg + "</svg>"
}

/// One lying bar with its quartiles and its value: how far down it is, and how thick.
fn bar(
    body: &mut String,
    sheet: &Sheet,
    row: &FigureRow,
    colour: usize,
    x: &AxisScale,
    (y, thick): (f64, f64),
) {
    let start = if sheet.form == Form::LogBars {
        0.0
    } else {
        x.at(0.0)
    };
    let end = x.at(row.spread.median);
    let (from, to) = (start.min(end), start.max(end));
    rectangle(
        body,
        &format!("f{colour}"),
        (from, y),
        (to - from, thick),
        &said(sheet, row),
    );
    let mut reach = to;
    if row.spread.n > 1 {
        let (low, high) = (x.at(row.spread.lower), x.at(row.spread.upper));
        line(
            body,
            "whisker",
            (low, y + thick / 2.0),
            (high, y + thick / 2.0),
        );
        reach = reach.max(high);
    }
    text(body, (reach + 5.0, y + 11.0), "", "start", &value_of(row));
}

fn stacks(sheet: &Sheet, names: &Names<'_>) -> String {
    let (series, words) = (sheet.series(), words(sheet));
    let thick = 20.0;
    let mut body = String::new();
    let mut y = 14.0;
    text(&mut body, (0.0, y), "soft", "start", &sheet.y);
    for word in &words {
        y += 20.0;
        text(&mut body, (0.0, y), "", "start", word);
        y += 5.0;
        let rows = || sheet.rows.iter().filter(|row| row.x.text() == *word);
        let all: f64 = rows().map(|row| row.spread.median.max(0.0)).sum();
        let mut from = 0.0;
        for name in &series {
            let Some(row) = rows().find(|row| row.series == *name) else {
                continue;
            };
            let share = if all > 0.0 {
                row.spread.median.max(0.0) / all
            } else {
                0.0
            };
            let width = share * WIDTH;
            if width <= 0.0 {
                continue;
            }
            let class = format!("f{}", names.colour(name));
            rectangle(
                &mut body,
                &class,
                (from, y),
                (width, thick),
                &said(sheet, row),
            );
            let words = value_of(row);
            if width > 9.0 * words.chars().count() as f64 {
                text(
                    &mut body,
                    (from + width / 2.0, y + 14.0),
                    "on",
                    "middle",
                    &words,
                );
            }
            from += width;
        }
        y += thick;
    }
    let mut svg = open(sheet, y + 8.0);
    svg.push_str(&body);
    svg + "</svg>"
}

fn boxes(sheet: &Sheet) -> String {
    let top = TOP + 16.0;
    let (right, bottom) = (WIDTH - RIGHT, top + HEIGHT);
    let y = AxisScale::linear(
        sheet
            .rows
            .iter()
            .flat_map(|row| [row.spread.min, row.spread.max]),
        bottom,
        top,
    );
    let mut svg = open(sheet, bottom + BELOW);
    grid(&mut svg, sheet, &y, right);
    line(&mut svg, "axis", (LEFT, bottom), (right, bottom));
    let step = (right - LEFT) / sheet.rows.len() as f64;
    let centres: Vec<f64> = (0..sheet.rows.len())
        .map(|place| LEFT + step * (place as f64 + 0.5))
        .collect();
    for kept in apart(&centres, 38.0) {
        text(
            &mut svg,
            (centres[kept], bottom + 17.0),
            "soft",
            "middle",
            &sheet.rows[kept].x.text(),
        );
    }
    text(
        &mut svg,
        ((LEFT + right) / 2.0, bottom + 34.0),
        "soft",
        "middle",
        &sheet.x,
    );
    let half = (step * 0.32).min(14.0);
    for (order, (row, x)) in sheet.rows.iter().zip(centres).enumerate() {
        // The first stands for the policy without the setting.
        let colour = usize::from(order > 0);
        let spread = &row.spread;
        let (low, high) = spread.whiskers(&row.values);
        line(&mut svg, "whisker", (x, y.at(low)), (x, y.at(high)));
        let (above, below) = (y.at(spread.upper), y.at(spread.lower));
        let size = (2.0 * half, (below - above).max(1.0));
        rectangle(
            &mut svg,
            &format!("f{colour}"),
            (x - half, above),
            size,
            &said(sheet, row),
        );
        line(
            &mut svg,
            "whisker",
            (x - half, y.at(spread.median)),
            (x + half, y.at(spread.median)),
        );
        for value in row
            .values
            .iter()
            .filter(|value| **value < low || **value > high)
        {
            let (x, y) = (px(x), px(y.at(*value)));
            let _ = write!(
                svg,
                "<circle class=\"f{colour}\" cx=\"{x}\" cy=\"{y}\" r=\"2.2\"/>"
            );
        }
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::plot::tests::assert_svg;

    fn drawn(sheet: &Sheet) -> Option<String> {
        chart(sheet, &Names::of(std::slice::from_ref(sheet)))
    }

    fn sheet(form: Form) -> Sheet {
        let mut sheet = Sheet::new("a < b & c", "workers", "ms \"each\"", form);
        for x in [1.0, 2.0, 16.0] {
            sheet.push("roving", x, vec![1.0 / x, 1.1 / x, 9.0 / x]);
            sheet.push("rayon", x, vec![2.0 / x]);
        }
        sheet
    }

    #[test]
    fn every_form_is_svg_without_holes() {
        for form in [
            Form::Lines,
            Form::LogLines,
            Form::LogLog,
            Form::Bars,
            Form::LogBars,
            Form::Stacks,
            Form::Boxes,
        ] {
            let html = drawn(&sheet(form)).unwrap();
            let svg = &html["<figure>".len()..html.find("</svg>").unwrap() + "</svg>".len()];
            assert_svg(svg);
            for bad in ["NaN", "inf", "a < b"] {
                assert!(!html.contains(bad), "{form:?}: {bad} in {html}");
            }
            assert!(
                html.contains("n = 3") && html.contains("a &lt; b &amp; c"),
                "{form:?}: {html}"
            );
            assert!(
                form == Form::Boxes || html.contains("rayon"),
                "{form:?}: {html}"
            );
        }
    }

    #[test]
    fn odd_values_do_not_break_a_chart() {
        for form in [
            Form::Lines,
            Form::LogLog,
            Form::Bars,
            Form::LogBars,
            Form::Stacks,
            Form::Boxes,
        ] {
            let mut sheet = Sheet::new("odd", "x", "y", form);
            sheet.push("zero", 0.0, vec![0.0]);
            sheet.push("below", 0.0, vec![-3.0, 4.0]);
            sheet.push("nothing", 0.0, vec![f64::NAN]);
            assert_eq!(sheet.rows.len(), 2);
            let html = drawn(&sheet).unwrap();
            assert!(
                !html.contains("NaN") && !html.contains("inf"),
                "{form:?}: {html}"
            );
        }
        assert!(drawn(&Sheet::new("empty", "x", "y", Form::Bars)).is_none());
    }

    #[test]
    fn a_point_of_one_run_has_no_whisker_and_outliers_are_dots() {
        let html = drawn(&sheet(Form::Lines)).unwrap();
        assert_eq!(html.matches("whisker").count(), 3);
        let mut odd = Sheet::new("odd", "x", "y", Form::Boxes);
        odd.push("here", "1", vec![1.0, 1.1, 1.2, 1.3, 9.0]);
        assert_eq!(drawn(&odd).unwrap().matches("<circle").count(), 1);
    }
}
