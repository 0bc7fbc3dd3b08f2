//! Tests of the report as text: well-formed, whole, without holes.

use std::collections::BTreeSet;

use super::*;
use crate::repro::plan::Plan;
use crate::repro::store::Point;
use crate::repro::{catalogue, groups};

fn head() -> Head {
    Head {
        origin: Origin {
            size: "quick".into(),
            machine: "two cores & <none> more".into(),
            build: "0123456789abcdef".into(),
            commit: "abcdef012345".into(),
        },
        words: "--quick --out a/b".into(),
        moment: "today".into(),
        warning: Some("a warning"),
    }
}

/// Series that groups have, but for the steps of the ladders and the idle times.
const SERIES: [&str; 23] = [
    "serial",
    "roving",
    "rayon",
    "chili",
    "tbb",
    "openmp",
    "roving-fork",
    "roving-spawn",
    "roving-branch",
    "roving-fork fixed:20",
    "roving-fork fixed:2",
    "roving-fork half",
    "one",
    "half",
    "fixed:20",
    "fixed:2",
    "fixed:1",
    "fixed:4",
    "fixed:8",
    "fixed:16",
    "stealing",
    "partitioned",
    "adaptive",
];

/// Points for all that the groups of a plan can give: made up, but of the right shape.
fn points(plan: &Plan) -> Vec<Point> {
    use crate::repro::contest::STATES;
    let mut points = Vec::new();
    let mut names: Vec<String> = SERIES.map(str::to_owned).to_vec();
    names.extend(crate::repro::ladder::JOINS.map(str::to_owned));
    names.extend(crate::repro::ladder::STEALS.map(str::to_owned));
    names.extend(crate::networks::placement::Place::thresholds().map(|place| place.text()));
    names.extend(["items", "clock_ghz", "repeats"].map(str::to_owned));
    let shares = STATES.map(|state| format!("{state}_share"));
    let facts = ["items", "clock_ghz", "repeats"];
    let metrics = |series: &str| -> Vec<String> {
        let placed = ["stealing", "partitioned", "adaptive"];
        if facts.contains(&series) {
            vec![series.to_owned()]
        } else if placed.iter().any(|place| series.starts_with(place)) {
            ["time_s", "local_share", "messages_per_s", "repartitions"]
                .map(str::to_owned)
                .to_vec()
        } else if series == "one" || series == "half" || series.starts_with("fixed") {
            shares.to_vec()
        } else {
            vec!["time_s".to_owned()]
        }
    };
    for group in groups(plan) {
        for (place, series) in names.iter().enumerate() {
            // Even on one core, the ladder of steals has a thief.
            for &workers in plan.workers.iter().chain(&[2]) {
                for metric in metrics(series) {
                    let value = 1.0 + ((place * 7 + workers * 3 + metric.len()) % 11) as f64;
                    points.push(Point {
                        group: group.name.clone(),
                        series: series.clone(),
                        workers,
                        metric,
                        values: vec![value, value * 1.1, value * 1.5],
                        note: if place == 3 {
                            "chili left out: a < b".into()
                        } else {
                            String::new()
                        },
                    });
                }
            }
        }
    }
    points
}

/// Tags closed in order, attributes in quotes, no bare `<` or `&`, and every identifier once.
fn assert_well_formed(html: &str) {
    let body = html
        .strip_prefix("<!DOCTYPE html>\n")
        .expect("a document type");
    let (mut open, mut ids): (Vec<&str>, BTreeSet<String>) = Default::default();
    let mut rest = body;
    while let Some(start) = rest.find('<') {
        text_is_escaped(&rest[..start]);
        let end = start + rest[start..].find('>').expect("every tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag
            .trim_end_matches('/')
            .split_whitespace()
            .next()
            .expect("a tag has a name");
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in order");
        } else if !tag.ends_with('/') {
            open.push(name);
            if name == "style" {
                rest = &rest[rest.find("</style>").expect("the style ends")..];
            }
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in `{tag}`");
        if let Some((_, id)) = tag.split_once(" id=\"") {
            let id = id.split('"').next().unwrap_or_default();
            assert!(ids.insert(id.to_owned()), "{id} twice");
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    for link in html.split("href=\"#").skip(1) {
        let target = link.split('"').next().unwrap_or_default();
        assert!(
            ids.contains(target),
            "a link to `{target}`, which is not there"
        );
    }
}

fn text_is_escaped(text: &str) {
    for part in text.split('&').skip(1) {
        let entity = part.split(';').next().unwrap_or_default();
        assert!(
            entity.len() < 6 && part.contains(';'),
            "a bare & in `{text}`"
        );
    }
    assert!(!text.contains('>'), "a bare > in `{text}`");
}

/// Checks that the page has no holes, and nothing from outside.
fn assert_no_holes(html: &str) {
    for bad in [
        "NaN", "Some(", "http://", "https://", "src=", "@import", "url(",
    ] {
        let place = html.find(bad).map(|at| &html[at - 20..at + 20]);
        assert!(place.is_none(), "{bad}: {place:?}");
    }
    let mut words = html.split(|c: char| !c.is_ascii_alphanumeric());
    assert!(words.all(|word| !["nan", "inf", "Infinity"].contains(&word)));
}

#[test]
fn the_page_is_whole_on_any_machine() {
    for (quick, cores) in [(true, 1), (true, 2), (false, 8)] {
        let plan = Plan::on(quick, cores);
        let points = points(&plan);
        let seen = Seen {
            points: &points,
            plan: &plan,
        };
        let figures = catalogue();
        let html = page(&head(), &figures, &seen);
        assert_well_formed(&html);
        assert_no_holes(&html);
        for figure in &figures {
            let from = html
                .find(&format!("<article id=\"{}\"", figure.name))
                .expect("its article");
            let article = &html[from..from + html[from..].find("</article>").expect("its end")];
            for part in [
                "class=\"badge",
                "class=\"verdict\"",
                "The paper</h4>",
                "Here</h4>",
                "Numbers: ",
                "The rule: ",
            ] {
                assert!(
                    article.contains(part),
                    "{} on {cores} lacks {part}",
                    figure.name
                );
            }
            let here = article.split("Here</h4>").nth(1).expect("what is here");
            assert!(
                here.contains("<svg") && here.contains("<td>here</td>"),
                "{} on {cores}",
                figure.name
            );
            let again = format!("roving repro {} --quick --out a/b", figure.name);
            assert!(article.contains(&again), "{}: {again}", figure.name);
            assert!(!judged(figure, &seen).sentence.contains("NaN"));
        }
        assert!(
            html.contains("chili left out: a &lt; b")
                && html.contains("two cores &amp; &lt;none&gt; more")
        );
    }
}

#[test]
fn a_page_without_points_says_so() {
    let plan = Plan::on(true, 2);
    let seen = Seen {
        points: &[],
        plan: &plan,
    };
    let figures = catalogue();
    let html = page(&head(), &figures, &seen);
    assert_well_formed(&html);
    assert_no_holes(&html);
    assert_eq!(html.matches("Not measured yet.").count(), figures.len());
    for figure in figures {
        assert_eq!(
            judged(figure, &seen).verdict,
            Verdict::CannotTell,
            "{}",
            figure.name
        );
    }
}

#[test]
fn one_core_is_not_enough_where_the_finding_is_about_two() {
    let plan = Plan::on(true, 1);
    let points = points(&plan);
    let seen = Seen {
        points: &points,
        plan: &plan,
    };
    for name in [
        "wool-stress",
        "nornir-table-1",
        "nornir-figure-6",
        "stackthreads-figure-16",
        "stackthreads-figure-9",
    ] {
        let all = catalogue();
        let figure = all
            .iter()
            .find(|figure| figure.name == name)
            .expect("it is there");
        assert_eq!(
            judged(figure, &seen).verdict,
            Verdict::TooFewCores,
            "{name}"
        );
    }
}

#[test]
fn tables_hold_the_paper_and_the_measured_values() {
    let plan = Plan::on(true, 2);
    let points = points(&plan);
    let seen = Seen {
        points: &points,
        plan: &plan,
    };
    for figure in catalogue() {
        let csv = csv(&head(), figure, &seen);
        let again = Csv::parse(&csv.text()).expect("it is read again");
        assert_eq!(again, csv);
        let of = |word: &str| again.rows.iter().filter(|row| row[0] == word).count();
        let printed: usize = (figure.printed)()
            .iter()
            .map(|sheet| sheet.rows.len())
            .sum();
        assert_eq!(of("paper"), printed, "{}", figure.name);
        assert!(of("here") > 0, "{}", figure.name);
        for row in &again.rows {
            let median: f64 = again.field(row, "median").unwrap().parse().unwrap();
            assert!(median.is_finite());
            assert_eq!(again.field(row, "n").unwrap().is_empty(), row[0] == "paper");
            assert!(again.field(row, "command").unwrap().contains(figure.name));
        }
    }
}

#[test]
fn runs_that_vary_too_much_decide_nothing() {
    let plan = Plan::on(true, 2);
    let mut points = points(&plan);
    let all = catalogue();
    let figure = all
        .iter()
        .find(|figure| figure.name == "worms-figure-2")
        .expect("it is there");
    let verdict = |points: &[Point]| {
        let seen = Seen {
            points,
            plan: &plan,
        };
        judged(figure, &seen)
    };
    let decided = verdict(&points).verdict;
    assert!(matches!(decided, Verdict::Holds | Verdict::NotHere));
    for point in &mut points {
        let first = point.values[0];
        point.values = vec![first, first * 0.2, first * 3.0];
    }
    let noisy = verdict(&points);
    assert_eq!(noisy.verdict, Verdict::CannotTell);
    assert!(
        noisy.sentence.contains("quiet machine"),
        "{}",
        noisy.sentence
    );
}
