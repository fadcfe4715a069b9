import Testing

@testable import Crypto

/// RFC 7468: a label in capitals on a line of its own, base 64 in lines of 64 characters.
@Suite("PEM documents")
struct PEMDocumentTests {
  private func block(_ label: String, _ base64: String) -> String {
    "-----BEGIN \(label)-----\n\(base64)\n-----END \(label)-----\n"
  }

  @Test("lines have 64 characters, the last one what is left")
  func lines() {
    let text = PEMDocument(label: "DATA", bytes: [UInt8](repeating: 0, count: 49)).text
    #expect(
      text == block("DATA", String(repeating: "A", count: 64) + "\n" + "AA=="))
    #expect(PEMDocument(label: "DATA", bytes: []).text == "-----BEGIN DATA-----\n-----END DATA-----\n")
  }

  @Test("documents of one label are read in order, whatever stands between them")
  func several() {
    let text = "a comment\n" + block("DATA", "Zg==") + block("OTHER", "!!") + "\r\n" + block("DATA", "Zm8=")
    #expect(PEMDocument.documents(labeled: "DATA", in: text)?.map(\.bytes) == [[0x66], [0x66, 0x6F]])
    #expect(PEMDocument.documents(labeled: "NONE", in: text)?.isEmpty == true)
  }

  @Test(
    "a document that is no base 64, or begins inside another, makes the text unreadable",
    arguments: [
      "-----BEGIN DATA-----\n!!\n-----END DATA-----\n",
      "-----BEGIN DATA-----\nZg==\n-----BEGIN DATA-----\nZg==\n-----END DATA-----\n",
      "-----END DATA-----\n",
    ])
  func damaged(_ text: String) {
    #expect(PEMDocument.documents(labeled: "DATA", in: text) == nil)
  }

  @Test("the only document of a text has nothing but blank lines beside it")
  func only() {
    let text = block("DATA", "Zg==")
    #expect(PEMDocument(only: "DATA", in: "\n" + text + " \n")?.bytes == [0x66])
    #expect(PEMDocument(only: "OTHER", in: text) == nil)
    #expect(PEMDocument(only: "DATA", in: text + text) == nil)
    #expect(PEMDocument(only: "DATA", in: text + "more") == nil)
    #expect(PEMDocument(only: "DATA", in: "") == nil)
  }
}
