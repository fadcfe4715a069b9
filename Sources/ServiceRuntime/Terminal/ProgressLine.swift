public import CoreTypes

/// The progress of something in one line for people.
public struct ProgressLine: Hashable, Sendable {
  /// The name of the task that makes the progress, such as a product and its version.
  public var label: String
  /// 0 to 1; nil while it is not known.
  public var fraction: Double?
  /// Bytes that are complete.
  public var done: ByteCount
  /// Bytes of the whole; nil while that is not known.
  public var total: ByteCount?
  /// Bytes per second.
  public var speed: ByteCount?
  /// An estimate; nil while there is none.
  public var timeRemaining: Duration?
  /// Replaces speed and time: why nothing moves, or how it ended.
  public var note: String?

  /// A line without what is not given.
  public init(
    label: String, fraction: Double? = nil, done: ByteCount, total: ByteCount? = nil, speed: ByteCount? = nil,
    timeRemaining: Duration? = nil, note: String? = nil
  ) {
    self.label = label
    self.fraction = fraction
    self.done = done
    self.total = total
    self.speed = speed
    self.timeRemaining = timeRemaining
    self.note = note
  }

  /// A line for logs and files: `Heroes 42: 62 %, 11.2 MiB of 18.0 MiB, 3.2 MiB/s, 12 s left`.
  public var plain: String {
    PlainText.line("\(label): " + (([percentage].compactMap { $0 }) + details).joined(separator: ", "))
  }

  /// A line for a terminal, never wider than `columns`. As room shrinks the amount goes first, then the speed; the label loses
  /// its middle, down to 16 columns; then the bar goes.
  public func line(columns: Int) -> String {
    let label = TextWidth.cut(label, to: .max)
    let shortest = min(TextWidth.of(label), Self.shortestLabel)
    let percentage = percentage.map { String(repeating: " ", count: max(0, 5 - $0.count)) + $0 }
    let ends = choices.map { ([percentage].compactMap { $0 } + $0).joined(separator: Self.gap) }
    if fraction != nil {
      // Three gaps: before the bar, behind it, and its brackets.
      let fixed = shortest + 3 * Self.gap.count + Self.shortestBar
      if let end = ends.first(where: { fixed + TextWidth.of($0) <= columns }) {
        return barred(label: label, end: end, columns: columns)
      }
    }
    guard let end = ends.first(where: { shortest + Self.gap.count + TextWidth.of($0) <= columns }) else {
      return cutToFit(label: label, end: ends.last ?? "", shortestLabel: shortest, columns: columns)
    }
    guard !end.isEmpty else { return TextWidth.cutMiddle(label, to: columns) }
    return TextWidth.cutMiddle(label, to: columns - Self.gap.count - TextWidth.of(end)) + Self.gap + end
  }

  /// The space between parts.
  static let gap = "  "
  /// The fewest columns of a label, unless it is shorter itself.
  static let shortestLabel = 16
  /// The fewest columns of a bar, brackets aside.
  static let shortestBar = 8
  /// The fewest columns of a percentage and a note.
  private static let shortestNote = 16
  /// The most columns of a bar, brackets aside.
  static let longestBar = 30

  /// The label has its room before the bar grows.
  private func barred(label: String, end: String, columns: Int) -> String {
    let room = columns - 3 * Self.gap.count - TextWidth.of(end)
    let label = TextWidth.cutMiddle(label, to: room - Self.shortestBar)
    let length = min(room - TextWidth.of(label), Self.longestBar)
    let bar = Self.bar(fraction ?? 0, length: length)
    return "\(label)\(Self.gap)[\(bar)]\(Self.gap)\(end)"
  }

  /// Not even the least fits: a note is cut, then the label, and the percentage goes last.
  private func cutToFit(label: String, end: String, shortestLabel: Int, columns: Int) -> String {
    let room = max(
      columns - shortestLabel - Self.gap.count, note == nil ? TextWidth.of(end) : Self.shortestNote)
    let end = TextWidth.cut(end, to: room)
    let left = columns - TextWidth.of(end) - Self.gap.count
    if left > 0 { return TextWidth.cutMiddle(label, to: left) + Self.gap + end }
    return TextWidth.cut(end, to: columns)
  }

  /// Full only when all is done.
  static func bar(_ fraction: Double, length: Int) -> String {
    let filled = Int(clamping: min(1, max(0, fraction)) * Double(length))
    return String(repeating: "#", count: filled) + String(repeating: "-", count: length - filled)
  }

  /// Rounded down: 100 only when all is done.
  var percentage: String? {
    fraction.map { "\(Int(clamping: min(1, max(0, $0)) * 100)) %" }
  }

  /// The bytes that are done, of how many where that is known.
  private var amount: String { total.map { "\(done) of \($0)" } ?? "\(done)" }

  /// The longest choice of parts at the end.
  private var details: [String] { choices.first ?? [] }

  /// The parts at the end of a line, from the longest choice to the shortest.
  var choices: [[String]] {
    if let note { return [[amount, note], [note]] }
    let speed = speed.map { "\($0)/s" }
    let time = timeRemaining.map { "\(DurationText.estimate($0)) left" }
    guard speed != nil || time != nil else { return [[amount], []] }
    return [[amount, speed, time], [speed, time], [time], []].map { $0.compactMap { $0 } }
  }
}

extension ProgressLine {
  /// The width of the text after the bar when there is room for all of it: percentage, amount, speed, time.
  private static let wholeEnd = 57
  /// The width of that text without the amount; with less room than this there is no bar.
  private static let shortEnd = 33

  /// Several lines, one below the other: labels, bars and percentages form columns. No line is wider than `columns`.
  public static func lines(_ lines: [ProgressLine], columns: Int) -> [String] {
    let widest = lines.map { TextWidth.of(TextWidth.cut($0.label, to: .max)) }.max() ?? 0
    let label = min(widest, max(shortestLabel, columns / 3))
    let room = columns - label - 3 * gap.count
    guard lines.count > 1, room >= shortestBar + shortEnd else {
      return lines.map { $0.line(columns: columns) }
    }
    let bar = min(longestBar, max(shortestBar, room - wholeEnd))
    return lines.map { $0.line(label: label, bar: bar, columns: columns) }
  }

  /// A line in columns of those widths, which other lines share.
  private func line(label width: Int, bar length: Int, columns: Int) -> String {
    let label = TextWidth.cutMiddle(label, to: width)
    let padding = String(repeating: " ", count: max(0, width - TextWidth.of(label)))
    let bar =
      fraction.map { "[\(Self.bar($0, length: length))]" } ?? String(repeating: " ", count: length + 2)
    let percentage = percentage ?? ""
    let start =
      label + padding + Self.gap + bar + Self.gap
      + String(repeating: " ", count: max(0, 5 - percentage.count))
      + percentage
    let ends = choices.map { $0.map { Self.gap + $0 }.joined() }
    let end = ends.first { TextWidth.of(start) + TextWidth.of($0) <= columns } ?? ends.last ?? ""
    return TextWidth.cut(start + end, to: columns)
  }
}
