//! Plots as SVG that can be read on a light and on a dark page.

mod lines;

use plotters::coord::ranged1d::{KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(crate) use lines::{Axes, lines};

const WIDTH: u32 = 760;
const FONT: &str = "sans-serif";
/// Ink on a light page; [`readable`] replaces it on a dark one.
const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
/// Lines of the grid, on any page.
const GRID: RGBColor = RGBColor(0x8c, 0x95, 0x9f);
/// Ours, in each legend entry.
const OURS: [RGBColor; 2] = [RGBColor(0xf0, 0xa4, 0x6a), RGBColor(0xd9, 0x5f, 0x02)];
/// The others', in each legend entry.
const OTHERS: [RGBColor; 2] = [RGBColor(0xa9, 0xb8, 0xc9), RGBColor(0x6a, 0x82, 0x9e)];
/// One a curve; the first is ours.
const CURVES: [RGBColor; 8] = [
    RGBColor(0xd9, 0x5f, 0x02),
    RGBColor(0x3b, 0x82, 0xc4),
    RGBColor(0x2e, 0x9e, 0x6b),
    RGBColor(0x9a, 0x6f, 0xc9),
    RGBColor(0xc4, 0x50, 0x7a),
    RGBColor(0x8a, 0x8a, 0x2a),
    RGBColor(0x2a, 0x9d, 0xa6),
    RGBColor(0x7f, 0x7f, 0x7f),
];

/// A group of bars: one runtime, one bar for each legend entry.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// The label of the group. The first group is ours.
    pub(crate) name: String,
    /// One value for each legend entry; none where nothing was measured.
    pub(crate) values: Vec<Option<f64>>,
}

/// A curve through points.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// The label at its end. The first curve is ours.
    pub(crate) name: String,
    /// x and y, x rising.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A small bar chart beside others.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// One word above it.
    pub(crate) title: String,
    /// The measured quantity.
    pub(crate) about: String,
    /// Names and values. The first is ours; the same names in every panel.
    pub(crate) values: Vec<(String, Option<f64>)>,
}

/// Panels side by side, each with its own scale, the names at the left.
pub(crate) fn panels(title: &str, panels: &[Panel]) -> Result<String, String> {
    let Some(first) = panels.first() else {
        return Err("there is nothing to plot".into());
    };
    let (left, top, step) = (70, 100, 24);
    let width = (WIDTH as i32 - left - 10) / panels.len() as i32;
    let height = top + step * first.values.len() as i32 + 6;
    draw((WIDTH, height as u32), |area| {
        text(area, title, (left, 14), 17, (HPos::Left, VPos::Top))?;
        for (place, panel) in panels.iter().enumerate() {
            let from = left + width * place as i32;
            text(area, &panel.title, (from, 48), 15, (HPos::Left, VPos::Top))?;
            text(area, &panel.about, (from, 72), 12, (HPos::Left, VPos::Top))?;
            let longest = panel
                .values
                .iter()
                .filter_map(|one| one.1)
                .fold(0.0, f64::max);
            if longest <= 0.0 || !longest.is_finite() {
                return Err(format!("there is nothing to plot in {}", panel.title));
            }
            for (row, (name, value)) in panel.values.iter().enumerate() {
                let middle = top + step * row as i32 + 9;
                if place == 0 {
                    let at = (left - 8, middle);
                    text(area, name, at, 13, (HPos::Right, VPos::Center))?;
                }
                let Some(value) = value else {
                    text(area, "–", (from, middle), 13, (HPos::Left, VPos::Center))?;
                    continue;
                };
                let length = (value / longest * f64::from(width - 60)).round() as i32;
                let colour = if row == 0 { OURS[1] } else { OTHERS[1] };
                bar(area, (from, middle - 9), (length.max(1), 18), colour)?;
                let label = format!("{value:.2}");
                let at = (from + length.max(1) + 6, middle);
                text(area, &label, at, 12, (HPos::Left, VPos::Center))?;
            }
        }
        Ok(())
    })
}

/// Lying bars with their values; the longest on top.
pub(crate) fn bars(title: &str, legend: &[String], bars: &[Bar]) -> Result<String, String> {
    let best = |bar: &Bar| bar.values.iter().flatten().copied().fold(0.0, f64::max);
    let mut bars: Vec<(&Bar, bool)> = bars
        .iter()
        .enumerate()
        .map(|(place, bar)| (bar, place == 0))
        .collect();
    bars.sort_by(|a, b| best(b.0).total_cmp(&best(a.0)));
    let longest = bars.iter().map(|(bar, _)| best(bar)).fold(0.0, f64::max);
    if longest <= 0.0 || !longest.is_finite() {
        return Err("there is nothing to plot".into());
    }
    let thickness = if legend.len() > 1 { 15 } else { 22 };
    let group = thickness * legend.len() as i32 + 10;
    let (left, top, room) = (110, 76, WIDTH as i32 - 110 - 90);
    let height = top + group * bars.len() as i32 + 14;
    draw((WIDTH, height as u32), |area| {
        text(area, title, (left, 14), 17, (HPos::Left, VPos::Top))?;
        let mut across = left;
        for (place, entry) in legend.iter().enumerate() {
            for (dx, colours) in [(0, &OURS), (14, &OTHERS)] {
                bar(
                    area,
                    (across + dx, 46),
                    (12, 12),
                    shade(colours, place, legend.len()),
                )?;
            }
            text(
                area,
                entry,
                (across + 32, 52),
                13,
                (HPos::Left, VPos::Center),
            )?;
            across += 130;
        }
        for (row, (one, ours)) in bars.iter().enumerate() {
            let y = top + group * row as i32;
            let middle = y + (group - 10) / 2;
            text(
                area,
                &one.name,
                (left - 10, middle),
                14,
                (HPos::Right, VPos::Center),
            )?;
            for (place, value) in one.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let length = (value / longest * f64::from(room)).round() as i32;
                let y = y + thickness * place as i32;
                let colour = shade(if *ours { &OURS } else { &OTHERS }, place, legend.len());
                bar(area, (left, y), (length.max(1), thickness - 2), colour)?;
                let label = (left + length + 8, y + thickness / 2 - 1);
                text(
                    area,
                    &format!("{value:.2}"),
                    label,
                    13,
                    (HPos::Left, VPos::Center),
                )?;
            }
        }
        Ok(())
    })
}

/// The last legend entry gets the strong colour.
fn shade(colours: &[RGBColor; 2], place: usize, entries: usize) -> RGBColor {
    colours[usize::from(place + 1 == entries)]
}

/// Curves over a logarithmic x axis with a mark at every x that was measured.
pub(crate) fn curves(title: &str, x: &str, y: &str, curves: &[Curve]) -> Result<String, String> {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let mut marks: Vec<f64> = all().map(|point| point.0).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    let highest = all().map(|point| point.1).fold(0.0, f64::max);
    let (Some(&first), Some(&last)) = (marks.first(), marks.last()) else {
        return Err("there is nothing to plot".into());
    };
    if !(first > 0.0 && highest > 0.0 && highest.is_finite()) {
        return Err("only values above zero can be plotted".into());
    }
    let axis = LogAxis {
        range: (first.ln(), last.ln() + 1e-9),
        marks: marks.clone(),
    };
    draw((WIDTH, 420), |area| {
        text(area, title, (20, 14), 17, (HPos::Left, VPos::Top))?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(44)
            .margin_right(126)
            .margin_bottom(8)
            .x_label_area_size(44)
            .y_label_area_size(56)
            .build_cartesian_2d(axis, 0.0..highest * 1.05)
            .map_err(plain)?;
        let label = |size| (FONT, size).into_font().color(&INK);
        chart
            .configure_mesh()
            .x_desc(x)
            .y_desc(y)
            .axis_style(GRID)
            .bold_line_style(GRID.mix(0.35))
            .light_line_style(TRANSPARENT)
            .x_label_formatter(&|position| format!("{}", position.exp().round()))
            .y_label_formatter(&|value| format!("{value:.1}"))
            .label_style(label(13))
            .axis_desc_style(label(14))
            .draw()
            .map_err(plain)?;
        let mut names: Vec<(i32, &str, RGBColor)> = Vec::new();
        for (place, curve) in curves.iter().enumerate() {
            let colour = CURVES[place.min(CURVES.len() - 1)];
            let points = || curve.points.iter().map(|(x, y)| (x.ln(), *y));
            let width = if place == 0 { 3 } else { 2 };
            chart
                .draw_series(LineSeries::new(points(), colour.stroke_width(width)))
                .map_err(plain)?;
            let dots = points().map(|point| Circle::new(point, 3, colour.filled()));
            chart.draw_series(dots).map_err(plain)?;
            if let Some(end) = points().next_back() {
                names.push((chart.backend_coord(&end).1, &curve.name, colour));
            }
        }
        spread(&mut names, 16);
        for (height, name, colour) in names {
            let style = (FONT, 13)
                .into_font()
                .color(&colour)
                .pos(Pos::new(HPos::Left, VPos::Center));
            area.draw_text(name, &style, (WIDTH as i32 - 116, height))
                .map_err(plain)?;
        }
        Ok(())
    })
}

/// Moves labels down until no two are closer than `gap`.
fn spread(labels: &mut [(i32, &str, RGBColor)], gap: i32) {
    labels.sort_by_key(|label| label.0);
    for place in 1..labels.len() {
        labels[place].0 = labels[place].0.max(labels[place - 1].0 + gap);
    }
}

/// An x axis in logarithms, with grid lines at given places only.
#[derive(Clone)]
struct LogAxis {
    range: (f64, f64),
    marks: Vec<f64>,
}

impl Ranged for LogAxis {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.0) / (self.range.1 - self.range.0);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.iter().map(|mark| mark.ln()).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.range.0..self.range.1
    }
}

impl plotters::coord::ranged1d::ValueFormatter<f64> for LogAxis {
    fn format(value: &f64) -> String {
        format!("{}", value.exp().round())
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws on an empty page and gives the SVG.
fn draw(
    size: (u32, u32),
    paint: impl FnOnce(&Area<'_>) -> Result<(), String>,
) -> Result<String, String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        paint(&area)?;
        area.present().map_err(plain)?;
    }
    Ok(readable(&svg))
}

fn text(
    area: &Area<'_>,
    words: &str,
    at: (i32, i32),
    size: i32,
    anchor: (HPos, VPos),
) -> Result<(), String> {
    let style = (FONT, size)
        .into_font()
        .color(&INK)
        .pos(Pos::new(anchor.0, anchor.1));
    area.draw_text(words, &style, at).map_err(plain)
}

fn bar(area: &Area<'_>, at: (i32, i32), size: (i32, i32), colour: RGBColor) -> Result<(), String> {
    let corners = [at, (at.0 + size.0, at.1 + size.1)];
    area.draw(&Rectangle::new(corners, colour.filled()))
        .map_err(plain)
}

fn plain(error: impl std::fmt::Display) -> String {
    format!("the plot could not be drawn: {error}")
}

/// The page stays transparent, and the ink turns light where the reader's page is dark.
fn readable(svg: &str) -> String {
    let style = "<style>@media (prefers-color-scheme: dark) \
                 { text[fill=\"#1F2328\"] { fill: #e6edf3 } }</style>";
    match svg
        .find("<svg")
        .and_then(|start| Some(start + svg[start..].find('>')? + 1))
    {
        Some(place) => format!("{}\n{style}{}", &svg[..place], &svg[place..]),
        None => svg.to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every tag is closed, in order, and there is one root: `svg`.
    pub(crate) fn assert_svg(svg: &str) {
        let mut open: Vec<&str> = Vec::new();
        let mut roots = 0;
        for part in svg.split('<').skip(1) {
            let (tag, rest) = part.split_once('>').expect("every tag ends");
            assert!(!rest.contains('>'), "a bare > in `{rest}`");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name.trim()), "closed in order");
            } else if !tag.starts_with(['!', '?']) && !tag.ends_with('/') {
                let name = tag.split_whitespace().next().expect("a tag has a name");
                roots += usize::from(open.is_empty());
                assert!(!open.is_empty() || name == "svg");
                assert_eq!(tag.matches('"').count() % 2, 0, "quotes in `{tag}`");
                open.push(name);
            }
        }
        assert!(
            open.is_empty() && roots == 1,
            "left open: {open:?}, roots: {roots}"
        );
    }

    fn two() -> Vec<Bar> {
        vec![
            Bar {
                name: "roving".into(),
                values: vec![Some(0.99), Some(1.94)],
            },
            Bar {
                name: "a & b <c>".into(),
                values: vec![None, Some(1.2)],
            },
        ]
    }

    #[test]
    fn bars_are_svg_with_names_values_and_a_dark_side() {
        let legend = ["1 worker".to_owned(), "2 workers".to_owned()];
        let svg = bars("UTS T3", &legend, &two()).unwrap();
        assert_svg(&svg);
        for word in [
            "roving",
            "1.94",
            "0.99",
            "1.20",
            "2 workers",
            "UTS T3",
            "prefers-color-scheme",
        ] {
            assert!(svg.contains(word), "{word}");
        }
        assert!(
            svg.contains("#1F2328"),
            "the ink that the dark page replaces"
        );
        // Legend: two squares an entry; then one bar for each value that there is.
        assert_eq!(svg.matches("<rect").count(), 4 + 3);
    }

    #[test]
    fn the_longest_bar_stands_on_top() {
        let mut turned = two();
        turned.reverse();
        let svg = bars("t", &["2".into(), "3".into()], &turned).unwrap();
        assert!(svg.find("roving") < svg.find("a &amp; b"));
    }

    #[test]
    fn curves_are_svg_with_a_mark_at_every_point() {
        let one = |name: &str, end| Curve {
            name: name.into(),
            points: vec![(1.0, 1.0), (2.0, 1.9), (16.0, end)],
        };
        let svg = curves(
            "fib",
            "workers",
            "speed-up",
            &[one("roving", 14.0), one("rayon", 13.9)],
        )
        .unwrap();
        assert_svg(&svg);
        assert_eq!(svg.matches("<circle").count(), 6);
        for word in ["roving", "rayon", "workers", "speed-up"] {
            assert!(svg.contains(word), "{word}");
        }
    }

    #[test]
    fn nothing_to_plot_is_said() {
        assert!(bars("t", &["1".into()], &[]).is_err());
        assert!(curves("t", "x", "y", &[]).is_err());
        let zero = Curve {
            name: "z".into(),
            points: vec![(0.0, 1.0)],
        };
        assert!(curves("t", "x", "y", &[zero]).is_err());
    }

    #[test]
    fn panels_stand_side_by_side_and_a_gap_is_shown() {
        let one = |title: &str, rayon| Panel {
            title: title.into(),
            about: "µs < ms".into(),
            values: vec![("roving".into(), Some(1.9)), ("rayon".into(), rayon)],
        };
        let svg = super::panels("t", &[one("Cheap", Some(0.5)), one("Quick", None)]).unwrap();
        assert_svg(&svg);
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(
            svg.matches("rayon").count(),
            1,
            "names stand at the left only"
        );
        assert!(svg.contains("–") && svg.contains("0.50"));
        assert!(super::panels("t", &[]).is_err());
    }

    #[test]
    fn labels_are_kept_apart() {
        let mut labels = [(10, "a", INK), (12, "b", INK), (80, "c", INK)];
        spread(&mut labels, 16);
        assert_eq!(labels.map(|label| label.0), [10, 26, 80]);
    }
}
