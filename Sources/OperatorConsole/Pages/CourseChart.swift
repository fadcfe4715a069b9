import CoreTypes
import PullboxAPI
import ServiceAPI

/// The curve of the devices that have a version, by hour, or by day for one that has been released for long.
struct CourseChart {
  private static let hour: Duration = .seconds(3600)
  private static let day: Duration = .seconds(86_400)
  /// Points of the curve, at most: three days by hour, ten weeks by day.
  private static let maximumPoints: Int64 = 72

  let course: ReleaseCourse
  let now: Timestamp
  let words: Words

  @MarkupBuilder
  var markup: Markup {
    if let first = course.hours.first {
      element(.p) {
        words(.devicesThatHaveIt, words.number(course.hours.reduce(0) { $0 + $1.devices }))
      }
      if !course.isComplete { element(.p, .look(.hint)) { words(.courseOfSome) } }
      BarChart(
        title: words(.placedOverTime), heading: words(.when), valueHeading: words(.devices),
        tableTitle: words(.asTable), points: points(since: first.start)
      ).markup
    } else {
      element(.p) { words(.noCourse) }
    }
  }

  /// The devices that had it by the end of each hour, or day.
  private func points(since first: Timestamp) -> [BarChart.Point] {
    let hours = (now - first).components.seconds / 3600 + 1
    let step = hours <= Self.maximumPoints ? Self.hour : Self.day
    let count = min(Self.maximumPoints, max(2, hours / (step.components.seconds / 3600) + 1))
    return (0..<count).map { index in
      let end = now - step * Int(count - 1 - index)
      let devices = course.hours.reduce(0) { $0 + ($1.start < end ? $1.devices : 0) }
      return BarChart.Point(name: words.moment(end), value: devices, text: words.number(devices))
    }
  }
}
