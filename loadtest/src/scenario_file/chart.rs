//! Charts as SVG, without scripts: lines over time or over percentiles, with a scale, a legend and marks.

use super::html::escaped;

/// The size of a chart, in units of its view box.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 220.0;
/// The margins around the lines: for the title, for the numbers at the left, and for those below.
const TOP: f64 = 34.0;
const LEFT: f64 = 62.0;
const BOTTOM: f64 = 26.0;
/// The largest number of points that a chart draws. With more points, it draws the largest value of each interval.
const MOST_POINTS: usize = 450;

/// The multiple of the usual distance of two points from which on a line has a gap.
const GAP: f64 = 2.5;

/// A line of a chart.
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// A vertical line, with a number or letter that the page explains.
pub(super) struct Upright {
    pub(super) at: f64,
    pub(super) label: String,
    /// Whether the mark is the start of a phase; the others are faults.
    pub(super) is_phase: bool,
}

/// A chart.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) lines: Vec<Line>,
    /// The labels below the chart with their positions, from the left to the right end.
    pub(super) below: Vec<(f64, String)>,
    pub(super) uprights: &'a [Upright],
}

impl Chart<'_> {
    /// Returns the chart, or an empty text if no line has two points.
    pub(super) fn svg(&self) -> String {
        let drawn: Vec<(usize, &Line)> =
            self.lines.iter().enumerate().filter(|(_, line)| line.points.len() > 1).collect();
        let largest = drawn.iter().flat_map(|(_, line)| &line.points).map(|(_, y)| *y).fold(0.0, f64::max);
        if drawn.is_empty() || largest <= 0.0 {
            return String::new();
        }
        let step = step(largest);
        let top = (largest / step).ceil() * step;
        let end = self.below.last().map_or(1.0, |(x, _)| *x);
        let place = |x: f64, y: f64| {
            (LEFT + (WIDTH - LEFT) * x / end, HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * y / top)
        };
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><text x=\"0\" y=\"12\" \
             class=\"title\">{0}</text>\n",
            escaped(self.title)
        );
        svg += &scale(top, step, place);
        for (x, label) in &self.below {
            let anchor = if *x >= end { "end" } else { "middle" };
            let (x, _) = place(*x, 0.0);
            svg +=
                &format!("<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{label}</text>", HEIGHT - 8.0);
        }
        for upright in self.uprights {
            let (x, bottom) = place(upright.at, 0.0);
            let class = if upright.is_phase { "phase" } else { "fault" };
            svg += &format!(
                "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/><text \
                 class=\"{class}\" x=\"{:.1}\" y=\"{}\">{}</text>",
                x + 2.0,
                TOP - 3.0,
                escaped(&upright.label)
            );
        }
        let mut legend = LEFT + 8.0 * self.title.chars().count() as f64;
        for (number, line) in drawn {
            svg += &polylines(number, &line.points, place);
            if !line.name.is_empty() {
                svg += &format!(
                    "<line class=\"l{number}\" x1=\"{legend}\" x2=\"{}\" y1=\"8\" y2=\"8\"/><text x=\"{}\" \
                     y=\"12\">{}</text>",
                    legend + 18.0,
                    legend + 23.0,
                    escaped(line.name)
                );
                legend += 45.0 + 6.5 * line.name.len() as f64;
            }
        }
        svg + "</svg>\n"
    }
}

/// Returns the horizontal lines with their numbers.
fn scale(top: f64, step: f64, place: impl Fn(f64, f64) -> (f64, f64)) -> String {
    let mut svg = String::new();
    let count = (top / step).round() as u32;
    let digits = usize::from(step < 1.0) + usize::from(step < 0.1);
    for number in 0..=count {
        let value = f64::from(number) * step;
        let (left, y) = place(0.0, value);
        svg += &format!(
            "<line class=\"grid\" x1=\"{left}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{:.1}\" \
             y=\"{:.1}\" text-anchor=\"end\">{value:.digits$}</text>",
            left - 5.0,
            y + 4.0
        );
    }
    svg + "\n"
}

/// Returns a round step of which at most five reach the largest value.
fn step(largest: f64) -> f64 {
    let power = 10_f64.powf((largest / 5.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| largest / step <= 5.0)
        .unwrap_or(largest)
}

/// Returns the labels of the time axis of a chart that ends at `end` seconds.
pub(super) fn seconds(end: f64) -> Vec<(f64, String)> {
    let step = step(end);
    let count = (end / step).floor() as u32;
    let mut below: Vec<(f64, String)> =
        (0..=count).map(|number| f64::from(number) * step).map(|at| (at, format!("{at:.0}"))).collect();
    below.retain(|(at, _)| *at < end - step / 2.0);
    below.push((end, format!("{end:.0} s")));
    below
}

/// Returns a line with its gaps.
fn polylines(number: usize, points: &[(f64, f64)], place: impl Fn(f64, f64) -> (f64, f64)) -> String {
    let of_part = |part| {
        let points = thinned(part).map(|(x, y)| place(x, y)).map(|(x, y)| format!("{x:.1},{y:.1}"));
        let points: Vec<String> = points.collect();
        format!("<polyline class=\"l{number}\" points=\"{}\"/>\n", points.join(" "))
    };
    parts(points).map(of_part).collect()
}

/// Splits a line where points are missing: where the distance of two is more than [`GAP`] times the usual one.
fn parts(points: &[(f64, f64)]) -> impl Iterator<Item = &[(f64, f64)]> {
    let mut distances: Vec<f64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    distances.sort_by(f64::total_cmp);
    let usual = distances.get(distances.len() / 2).copied().unwrap_or_default();
    points.chunk_by(move |before, after| after.0 - before.0 <= GAP * usual)
}

/// Returns the largest point of each interval, so that no peak is lost.
fn thinned(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let size = points.len().div_ceil(MOST_POINTS);
    points.chunks(size.max(1)).filter_map(|part| part.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> Line {
        Line { name: "x & y", points: points.into() }
    }

    #[test]
    fn steps_are_round_and_few() {
        for (largest, expected) in [(1.0, 0.2), (7.0, 2.0), (23.0, 5.0), (60.0, 20.0), (0.04, 0.01)] {
            assert!((step(largest) - expected).abs() < 1e-9, "{largest}: {}", step(largest));
        }
        let texts: Vec<String> = seconds(47.0).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0", "10", "20", "30", "40", "47 s"]);
    }

    #[test]
    fn chart_has_its_lines_legend_scale_and_marks() {
        let uprights = [Upright { at: 5.0, label: "<1>".to_owned(), is_phase: true }];
        let lines = vec![line(&[(0.0, 0.0), (10.0, 40.0)]), line(&[(0.0, 1.0)])];
        let svg = Chart { title: "t", lines, below: seconds(10.0), uprights: &uprights }.svg();
        assert!(svg.contains("points=\"62.0,194.0 900.0,34.0\""), "{svg}");
        assert!(
            svg.contains("x &amp; y") && svg.contains("&lt;1&gt;") && svg.contains(">40</text>"),
            "{svg}"
        );
        assert_eq!(svg.matches("<polyline").count(), 1);
        let nothing =
            Chart { title: "t", lines: vec![line(&[(0.0, 1.0)])], below: seconds(1.0), uprights: &[] };
        assert_eq!(nothing.svg(), "");
    }

    #[test]
    fn line_has_a_gap_where_seconds_are_missing() {
        let points: Vec<(f64, f64)> = [1.0, 2.0, 3.0, 4.1, 7.2, 8.2, 9.2].map(|x| (x, 1.0)).into();
        let lengths: Vec<usize> = parts(&points).map(<[_]>::len).collect();
        assert_eq!(lengths, [4, 3]);
        assert_eq!(parts(&[]).count(), 0);
        let svg = Chart { title: "t", lines: vec![line(&points)], below: seconds(10.0), uprights: &[] }.svg();
        assert_eq!(svg.matches("<polyline").count(), 2);
    }

    #[test]
    fn peaks_are_kept_when_there_are_too_many_points() {
        let points: Vec<(f64, f64)> =
            (0..5000).map(|n| (f64::from(n), if n == 1234 { 9.0 } else { 1.0 })).collect();
        let drawn: Vec<(f64, f64)> = thinned(&points).collect();
        assert!(drawn.len() <= MOST_POINTS && drawn.contains(&(1234.0, 9.0)));
    }
}
