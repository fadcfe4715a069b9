/// A field name of up to 24 bytes in lower case, eight to a word, so that names compare without touching
/// memory.
package struct PackedName: Hashable {
  private var words: InlineArray<3, UInt64>

  init(words: InlineArray<3, UInt64>) {
    self.words = words
  }

  /// Packs `length` bytes of `input` at `start`. Nil for names longer than 24 bytes, which equal no known
  /// one.
  init?(_ input: Span<UInt8>, start: Int, length: Int, readsUnderscoreAsHyphen: Bool = false) {
    guard length <= 24 else { return nil }
    func word(_ first: Int) -> UInt64 {
      let count = min(8, length - first)
      guard count > 0 else { return 0 }
      if !readsUnderscoreAsHyphen, start + first + 8 <= input.count {
        return ByteWord(input, at: start + first).lowercased(count)
      }
      var word: UInt64 = 0
      for index in start + first..<start + first + count {
        var byte = ASCII.lowercased(input[index])
        if readsUnderscoreAsHyphen, byte == UInt8(ascii: "_") { byte = ASCII.hyphen }
        word = word << 8 | UInt64(byte)
      }
      return word
    }
    words = [word(0), word(8), word(16)]
  }

  /// Whether a name of letters and hyphens is the token of `length` bytes, at most 24, at `start`, in any case.
  @inline(__always)
  func isName(of input: Span<UInt8>, start: Int, length: Int) -> Bool {
    guard start + 24 <= input.count else {
      return PackedName(input, start: start, length: length) == self
    }
    guard ByteWord(input, at: start).foldedToken(min(8, length)) == words[0] else { return false }
    guard length > 8 else { return true }
    guard ByteWord(input, at: start + 8).foldedToken(min(8, length - 8)) == words[1] else { return false }
    guard length > 16 else { return true }
    return ByteWord(input, at: start + 16).foldedToken(length - 16) == words[2]
  }

  package static func == (left: PackedName, right: PackedName) -> Bool {
    left.words[0] == right.words[0] && left.words[1] == right.words[1] && left.words[2] == right.words[2]
  }

  package func hash(into hasher: inout Hasher) {
    for index in 0..<3 { hasher.combine(words[index]) }
  }

  /// The name as text, without the padding.
  var text: String {
    var bytes: [UInt8] = []
    for index in 0..<3 {
      for shift in stride(from: 56, through: 0, by: -8) {
        let byte = UInt8(truncatingIfNeeded: words[index] >> UInt64(shift))
        if byte != 0 { bytes.append(byte) }
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
