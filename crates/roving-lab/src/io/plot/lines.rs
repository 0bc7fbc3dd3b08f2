//! Lines over axes with round marks.

use plotters::coord::ranged1d::{KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{CURVES, Curve, FONT, GRID, INK, WIDTH, draw, plain, spread, text};

/// The texts and axes around a plot of lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes<'a> {
    /// Above it.
    pub(crate) title: &'a str,
    /// Below and beside it.
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    /// Whether the axis is logarithmic.
    pub(crate) log: (bool, bool),
}

/// Lines over axes with round marks, linear or logarithmic.
pub(crate) fn lines(axes: Axes<'_>, curves: &[Curve]) -> Result<String, String> {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let x = Ruler::over(all().map(|point| point.0), axes.log.0)?;
    let y = Ruler::over(all().map(|point| point.1), axes.log.1)?;
    let at = |&(a, b): &(f64, f64)| (x.position(a), y.position(b));
    draw((WIDTH, 420), |area| {
        text(area, axes.title, (20, 14), 17, (HPos::Left, VPos::Top))?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(44)
            .margin_right(126)
            .margin_bottom(8)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(x.clone(), y.clone())
            .map_err(plain)?;
        let label = |size| (FONT, size).into_font().color(&INK);
        chart
            .configure_mesh()
            .x_desc(axes.x)
            .y_desc(axes.y)
            .axis_style(GRID)
            .bold_line_style(GRID.mix(0.35))
            .light_line_style(TRANSPARENT)
            .x_label_formatter(&|position| x.label(*position))
            .y_label_formatter(&|position| y.label(*position))
            .label_style(label(13))
            .axis_desc_style(label(14))
            .draw()
            .map_err(plain)?;
        let mut names: Vec<(i32, &str, RGBColor)> = Vec::new();
        for (place, curve) in curves.iter().enumerate() {
            let colour = CURVES[place.min(CURVES.len() - 1)];
            let points = || curve.points.iter().map(at);
            chart
                .draw_series(LineSeries::new(points(), colour.stroke_width(2)))
                .map_err(plain)?;
            if let Some(end) = points().next_back() {
                names.push((chart.backend_coord(&end).1, &curve.name, colour));
            }
        }
        spread(&mut names, 16);
        // Lines that end at the bottom: their names stay on the page.
        let mut lowest = 408;
        for name in names.iter_mut().rev() {
            name.0 = name.0.min(lowest);
            lowest = name.0 - 16;
        }
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

/// An axis with round marks. Positions on it are values, or their logarithms.
#[derive(Clone)]
struct Ruler {
    range: (f64, f64),
    marks: Vec<f64>,
    log: bool,
}

impl Ruler {
    fn over(values: impl Iterator<Item = f64>, log: bool) -> Result<Ruler, String> {
        let (least, most) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), one| {
                (least.min(one), most.max(one))
            });
        if !(least.is_finite() && most.is_finite()) || log && least <= 0.0 {
            return Err("there is nothing to plot, or not all of it is above zero".into());
        }
        if log {
            let (low, high) = (
                least.log10().floor(),
                (most.log10().ceil()).max(least.log10().floor() + 1.0),
            );
            let marks = (low as i32..=high as i32).map(f64::from).collect();
            let range = (least.log10(), most.log10().max(least.log10() + 0.1));
            return Ok(Ruler { range, marks, log });
        }
        let (low, high) = (least.min(0.0), most.max(least.min(0.0) + 1e-9) * 1.02);
        let rough = (high - low) / 6.0;
        let unit = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * unit);
        let step = step
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let marks = (0..=12).map(|mark| low + step * f64::from(mark));
        let marks = marks.filter(|mark| *mark <= high).collect();
        let range = (low, high);
        Ok(Ruler { range, marks, log })
    }

    fn position(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }

    fn label(&self, position: f64) -> String {
        match self.log {
            true if (-2.5..6.5).contains(&position) => {
                format!("{}", 10_f64.powi(position.round() as i32))
            }
            true => format!("1e{}", position.round()),
            false => format!("{}", (position * 1e6).round() / 1e6),
        }
    }
}

impl Ranged for Ruler {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.0) / (self.range.1 - self.range.0);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        let within = |mark: &f64| (self.range.0..=self.range.1).contains(mark);
        self.marks.iter().copied().filter(within).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.range.0..self.range.1
    }
}

impl plotters::coord::ranged1d::ValueFormatter<f64> for Ruler {
    fn format(value: &f64) -> String {
        format!("{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::plot::tests::assert_svg;

    #[test]
    fn lines_have_round_marks_on_either_kind_of_axis() {
        let one = |name: &str, points: &[(f64, f64)]| Curve {
            name: name.into(),
            points: points.to_vec(),
        };
        let curves = [
            one("one", &[(10.0, 9.0), (1e6, 4000.0)]),
            one("half", &[(10.0, 9.5), (1e6, 70_000.0)]),
        ];
        for log in [(true, true), (false, false), (true, false)] {
            let axes = Axes {
                title: "speed-up",
                x: "workers",
                y: "times",
                log,
            };
            let svg = lines(axes, &curves).unwrap();
            assert_svg(&svg);
            assert!(svg.contains("half") && svg.contains("1000000"), "{svg}");
            assert!(lines(axes, &[]).is_err());
        }
    }
}
