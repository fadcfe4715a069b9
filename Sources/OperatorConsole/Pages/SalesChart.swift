import CoreTypes
import PullboxAPI
import ServiceAPI

/// The units that a report tells of each day.
struct SalesChart {
  var report: SalesReport
  var words: Words

  var markup: Markup {
    let units = Dictionary(
      report.rows.compactMap { row in row.day.map { ($0, row.units) } }, uniquingKeysWith: +)
    var points: [BarChart.Point] = []
    var day = report.from
    while day < report.to, points.count < SalesReport.maximumDays {
      let count = units[words.isoDay(day)] ?? 0
      points.append(BarChart.Point(name: words.day(day), value: count, text: words.number(count)))
      day = day + .seconds(86_400)
    }
    return BarChart(
      title: words(.unitsByDay), heading: words(.day), valueHeading: words(.units),
      tableTitle: words(.asTable),
      points: points
    ).markup
  }
}
