import ContentPackage
import ContentPacking
import Testing

@Suite("Pictures by their first bytes")
struct PictureFormatTests {
  @Test(
    "markup whose root is svg is a vector picture, whatever white space or byte order mark stands before it",
    arguments: [
      "<svg>", "<?xml version=\"1.0\"?>\n<svg:svg/>", "\u{FEFF}<svg/>", " \t\r\n<svg/>", "\u{B}\u{C}<svg/>",
      "\u{85}<svg/>", "\u{A0}<svg/>", "\u{1680}<svg/>", "\u{2003}\u{2028}\u{205F}<svg/>", "\u{3000}<svg/>",
    ])
  func vectors(text: String) {
    #expect(PictureFormat(startOf: Array(text.utf8)) == .svg)
  }

  @Test(
    "other markup is no picture, nor is text that has svg somewhere",
    arguments: ["", " ", "<html>", "svg", "a <svg/>", "\u{B7}<svg/>", "\u{E4}<svg/>", "\u{4E00}<svg/>"])
  func others(text: String) {
    #expect(PictureFormat(startOf: Array(text.utf8)) == nil)
  }
}
