import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("Executables")
struct ExecutableSignatureTests {
  private static var portableExecutable: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 0x90)
    bytes.replaceSubrange(0..<2, with: [0x4D, 0x5A])
    bytes[0x3C] = 0x80
    bytes.replaceSubrange(0x80..<0x84, with: [0x50, 0x45, 0, 0])
    return bytes
  }

  @Test(
    "code is recognised by its first bytes",
    arguments: [
      [0x7F, 0x45, 0x4C, 0x46], [0xFE, 0xED, 0xFA, 0xCE], [0xCF, 0xFA, 0xED, 0xFE], [0xCA, 0xFE, 0xBA, 0xBE],
      portableExecutable,
    ] as [[UInt8]])
  func code(_ bytes: [UInt8]) {
    #expect(ExecutableSignature.find(in: bytes, hasExecuteBit: false) != nil)
  }

  @Test("a script counts only with the execute bit")
  func script() {
    let bytes = Array("#!/bin/sh".utf8)
    #expect(ExecutableSignature.find(in: bytes, hasExecuteBit: true) != nil)
    #expect(ExecutableSignature.find(in: bytes, hasExecuteBit: false) == nil)
  }

  @Test(
    "pages, texts and short files are none",
    arguments: [
      [], [0x7F], [0xFF, 0xD8, 0xFF], Array("MZ is a text".utf8),
      Array("MZ".utf8) + [UInt8](repeating: 0xFF, count: 100),
    ] as [[UInt8]])
  func harmless(_ bytes: [UInt8]) {
    #expect(ExecutableSignature.find(in: bytes, hasExecuteBit: true) == nil)
  }
}
