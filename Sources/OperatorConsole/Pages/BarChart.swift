/// A curve over days or hours as SVG, drawn here, with a table of the same numbers below it.
struct BarChart {
  /// A point's name, and its value as a number and as a text.
  struct Point: Sendable {
    var name: String
    var value: Int
    var text: String
  }

  var title: String
  var heading: String
  var valueHeading: String
  /// The text that opens the table.
  var tableTitle: String
  var points: [Point]

  private static let (width, height) = (720, 200)
  private static let (left, bottom, top) = (8, 170, 26)

  /// The picture with its table.
  var markup: Markup {
    guard points.contains(where: { $0.value > 0 }) else { return .nothing }
    return element(.figure, .look(.chart)) {
      element(.figcaption) { title }
      picture
      element(.details) {
        element(.summary) { tableTitle }
        Parts.table(title, [heading, valueHeading], points.map { [.init($0.name), .numeric($0.text)] })
      }
    }
  }

  private var picture: Markup {
    let most = max(1, points.map(\.value).max() ?? 1)
    let step = (Self.width - 2 * Self.left) / max(1, points.count)
    return element(.svg, .viewBox(width: Self.width, height: Self.height), .role(.img), .labeled(title)) {
      element(
        .line,
        with: Attribute.end(fromX: Self.left, y: Self.bottom, toX: Self.width - Self.left, y: Self.bottom)
          + [.look(.axis)])
      for (index, point) in points.enumerated() where point.value > 0 {
        let height = max(2, point.value * (Self.bottom - Self.top) / most)
        element(
          .rect,
          with: Attribute.position(x: Self.left + index * step + 1, y: Self.bottom - height)
            + Attribute.size(width: max(2, step - 3), height: height)
        ) { element(.title) { "\(point.name): \(point.text)" } }
      }
      if let largest = points.max(by: { $0.value < $1.value }), largest.value > 0 {
        element(.text, with: Attribute.position(x: Self.left, y: 16)) { largest.text }
      }
      if let first = points.first, let last = points.last {
        element(.text, with: Attribute.position(x: Self.left, y: 190)) { first.name }
        element(.text, with: Attribute.position(x: Self.width - Self.left, y: 190) + [.anchor(.end)]) {
          last.name
        }
      }
    }
  }
}
