extension ProgressLine {
  /// What follows the bar when there is room for all of it: percentage, amount, speed, time.
  private static let wholeEnd = 52
  /// The same without the amount; with less room than this there is no bar.
  private static let shortEnd = 28

  /// Several lines, one below the other: labels, bars and percentages stand in columns. None is wider than `columns`.
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
