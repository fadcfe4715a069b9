/// The few colors this program uses, as a terminal's own palette has them.
enum ANSIColor: Int {
  case red = 31
  case green = 32
  case yellow = 33

  func paint(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}
