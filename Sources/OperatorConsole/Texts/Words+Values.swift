package import CoreTypes

extension Words {
  /// A whole number with its thousands apart.
  package func number(_ value: some BinaryInteger) -> String {
    let digits = String(value.magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += thousands }
      text.append(digit)
    }
    return (value < 0 ? "−" : "") + text
  }

  /// An exact decimal number, as `1234.5`, with its thousands apart; any other text as it is.
  package func decimal(_ text: String) -> String {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first.flatMap({ Int($0) }) else { return text }
    guard parts.count == 2 else { return number(whole) }
    let sign = whole == 0 && text.hasPrefix("-") ? "−" : ""
    return sign + number(whole) + (language == .german ? "," : ".") + parts[1]
  }

  /// An amount in a currency of ISO 4217, as the language writes it.
  package func money(_ amount: String, _ currency: String) -> String { "\(decimal(amount))\u{A0}\(currency)" }

  /// Bytes in the largest unit that they fill.
  package func bytes(_ count: ByteCount) -> String {
    var units = ["B", "KiB", "MiB", "GiB", "TiB"][...]
    var value = Double(count.rawValue)
    while value >= 1024, units.count > 1 {
      value /= 1024
      units = units.dropFirst()
    }
    let unit = units.first ?? "B"
    guard unit != "B" else { return "\(number(count.rawValue))\u{A0}B" }
    let tenths = Int(clamping: (value * 10).rounded())
    return "\(number(tenths / 10))\(language == .german ? "," : ".")\(tenths % 10)\u{A0}\(unit)"
  }

  /// A share in percent.
  package func percent(_ value: Int) -> String { "\(number(value))\u{A0}%" }

  /// The date and time in UTC, to the minute.
  package func moment(_ time: Timestamp) -> String {
    let date = time.utc
    return "\(day(time)) \(padded(date.hour)):\(padded(date.minute)) UTC"
  }

  /// The date in UTC.
  package func day(_ time: Timestamp) -> String {
    let date = time.utc
    return switch language {
    case .english: "\(date.year)-\(padded(date.month))-\(padded(date.day))"
    case .german: "\(padded(date.day)).\(padded(date.month)).\(date.year)"
    }
  }

  /// How long it takes or has taken, in the largest two units.
  package func duration(_ duration: Duration) -> String {
    let seconds = max(0, duration.milliseconds / 1000)
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60)
    if days > 0 { return "\(number(days))\u{A0}d \(hours)\u{A0}h" }
    if hours > 0 { return "\(hours)\u{A0}h \(minutes)\u{A0}min" }
    return minutes > 0 ? "\(minutes)\u{A0}min" : "\(seconds)\u{A0}s"
  }

  private var thousands: String { language == .german ? "." : "," }

  private func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
