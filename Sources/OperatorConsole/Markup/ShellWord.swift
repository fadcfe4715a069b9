/// A value as one word of a command that is shown to be copied: a shell reads nothing else in it.
func shellWord(_ value: some StringProtocol) -> String {
  let isPlain =
    !value.isEmpty
    && value.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
  guard !isPlain else { return String(value) }
  return "'" + value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
