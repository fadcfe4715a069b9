internal import CQREncode

/// A QR code (ISO/IEC 18004) of a text, as squares that are dark or light, and as lines for a terminal.
///
/// ```swift
/// if let code = QRCode(of: "https://comics.example/opds") { code.lines.forEach { print($0) } }
/// ```
struct QRCode: Hashable, Sendable {
  /// Light squares around it, without which it is not found (ISO/IEC 18004, 9.1).
  static let margin = 4
  /// Bytes of a text that one is made of: what fits on a terminal and is read from a screen.
  static let maximumLength = 300

  /// Squares of one side.
  let width: Int
  /// Row by row, without the margin; true for a dark square.
  private let squares: [Bool]

  /// Nil for an empty text, for one of more than ``maximumLength`` bytes, and where there is no memory for it.
  init?(of text: String) {
    let bytes = Array(text.utf8)
    guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
    // Version 0: the smallest that the bytes fit in. A quarter of the squares may be read wrongly.
    let made = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe QRcode_encodeData(Int32(bytes.count), bytes.baseAddress, 0, QR_ECLEVEL_M)
    }
    guard let made = unsafe made else { return nil }
    defer { unsafe QRcode_free(made) }
    let count = Int(unsafe made.pointee.width)
    // The lowest bit of each byte says whether the square is dark.
    let found = unsafe UnsafeBufferPointer(start: made.pointee.data, count: count * count)
    width = count
    squares = unsafe found.map { $0 & 1 == 1 }
  }

  /// Whether the square is dark; one of the margin is not.
  func isDark(_ row: Int, _ column: Int) -> Bool {
    guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
    return squares[row * width + column]
  }

  /// Columns of ``lines``.
  var columns: Int { width + 2 * Self.margin }

  /// Lines of half blocks, black on white whatever the terminal's own colors are: two rows of squares are one line.
  var lines: [String] {
    stride(from: -Self.margin, to: width + Self.margin, by: 2).map { row in
      let blocks = (-Self.margin..<width + Self.margin).map { column in
        switch (isDark(row, column), isDark(row + 1, column)) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }
      return "\u{1B}[30;107m\(blocks.joined())\u{1B}[0m"
    }
  }
}
