public import Measures

/// How far something has come, as one line for people.
public struct ProgressLine: Hashable, Sendable {
  public var label: String
  /// 0 to 1; nil while it is not known.
  public var fraction: Double?
  public var done: ByteCount
  public var total: ByteCount?
  /// Bytes per second.
  public var speed: ByteCount?
  public var timeRemaining: Duration?
  /// In place of speed and time: why nothing moves, or how it ended.
  public var note: String?

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

  /// For logs and files: `Heroes 42: 62 %, 11.2 MiB of 18.0 MiB, 3.2 MiB/s, 12 s left`.
  public var plain: String {
    "\(TextWidth.cut(label, to: .max)): "
      + (([percentage].compactMap { $0 }) + details).joined(separator: ", ")
  }

  /// For a terminal, never wider than `columns`. As room shrinks the bar goes first, then what stands at the
  /// end; the label is cut last.
  public func line(columns: Int) -> String {
    var details = details
    let percentage = percentage.map { String(repeating: " ", count: max(0, 5 - $0.count)) + $0 }
    while true {
      let end = ([percentage].compactMap { $0 } + details).joined(separator: "  ")
      let room = columns - TextWidth.of(end) - (end.isEmpty ? 0 : 2)
      let label = TextWidth.cut(label, to: .max)
      if room >= min(TextWidth.of(label), Self.shortestLabel) || details.isEmpty {
        return assemble(label, end, room: room, columns: columns)
      }
      details.removeLast()
    }
  }

  private static let shortestLabel = 16
  private static let shortestBar = 8
  private static let longestBar = 30

  private func assemble(_ label: String, _ end: String, room: Int, columns: Int) -> String {
    guard room > 0 else { return TextWidth.cut(end, to: columns) }
    let left = room - min(TextWidth.of(label), room)
    // Two for the space before the bar, two for its brackets.
    let barLength = min(left - 4, Self.longestBar)
    let separator = end.isEmpty ? "" : "  "
    guard barLength >= Self.shortestBar, let fraction else {
      return TextWidth.cut(label, to: room) + separator + end
    }
    return "\(label)  [\(Self.bar(fraction, length: barLength))]\(separator)\(end)"
  }

  /// Full only when all is done.
  private static func bar(_ fraction: Double, length: Int) -> String {
    let filled = Int(min(1, max(0, fraction)) * Double(length))
    return String(repeating: "#", count: filled) + String(repeating: "-", count: length - filled)
  }

  /// Rounded down: 100 only when all is done.
  private var percentage: String? {
    fraction.map { "\(Int(min(1, max(0, $0)) * 100)) %" }
  }

  private var details: [String] {
    let amount = total.map { "\(done) of \($0)" } ?? "\(done)"
    if let note { return [amount, note] }
    return [amount]
      + [speed.map { "\($0)/s" }, timeRemaining.map { "\(DurationText.short($0)) left" }].compactMap { $0 }
  }
}
