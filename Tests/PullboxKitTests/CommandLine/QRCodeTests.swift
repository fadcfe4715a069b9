import PullboxAPI
import Testing

@testable import pullbox

/// ISO/IEC 18004:2015, 6.3 and 9.1.
@Suite("The QR code of a reader's key")
struct QRCodeTests {
  private static let text = "https://kabiz12345:kabiz-motur-felan-sipod@comics.example/opds"

  @Test(
    "it has three position patterns, timing patterns between them, and the one square that is always dark")
  func patterns() throws {
    let code = try #require(QRCode(of: Self.text))
    #expect((code.width - 17) % 4 == 0)
    for (top, left) in [(0, 0), (0, code.width - 7), (code.width - 7, 0)] {
      for row in 0..<7 {
        for column in 0..<7 {
          let isRim = row == 0 || row == 6 || column == 0 || column == 6
          let isCenter = (2...4).contains(row) && (2...4).contains(column)
          #expect(code.isDark(top + row, left + column) == (isRim || isCenter))
        }
      }
    }
    for place in 8..<code.width - 8 {
      #expect(code.isDark(6, place) == place.isMultiple(of: 2))
      #expect(code.isDark(place, 6) == place.isMultiple(of: 2))
    }
    #expect(code.isDark(code.width - 8, 8))
  }

  @Test("lines show two rows of squares each, black on white, within a margin of four light squares")
  func lines() throws {
    let code = try #require(QRCode(of: Self.text))
    #expect(code.lines.count == (code.width + 2 * 4 + 1) / 2)
    let (start, end) = ("\u{1B}[30;107m", "\u{1B}[0m")
    let rows = code.lines.map { $0.dropFirst(start.count).dropLast(end.count) }
    #expect(code.lines.allSatisfy { $0.hasPrefix(start) && $0.hasSuffix(end) })
    #expect(rows.allSatisfy { $0.count == code.columns && $0.hasPrefix("    ") && $0.hasSuffix("    ") })
    #expect(rows.prefix(2).allSatisfy { $0.allSatisfy { $0 == " " } })
    // The rim of the first pattern, over the squares within it.
    #expect(rows[2].dropFirst(4).prefix(8) == "█▀▀▀▀▀█ ")
  }

  @Test("no text, and one that is too long to be read from a screen, have none")
  func bounds() {
    #expect(QRCode(of: "") == nil)
    #expect(QRCode(of: String(repeating: "a", count: 301)) == nil)
    #expect(QRCode(of: String(repeating: "a", count: 300)) != nil)
  }

  @Test("the address has the name and the password in it, and a socket's has none")
  func address() {
    func text(_ address: String) -> String? {
      ReaderAddress.text(
        of: NewReaderKey(name: "kabiz12345", password: "kabiz-motur-felan-sipod", address: address))
    }
    #expect(text("https://comics.example/opds") == Self.text)
    #expect(
      text("http://127.0.0.1:8094/opds")
        == "http://kabiz12345:kabiz-motur-felan-sipod@127.0.0.1:8094/opds")
    #expect(text("unix:/run/pullbox/catalog.sock") == nil)
  }
}
