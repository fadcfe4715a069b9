import CoreTypes
import Foundation
import PullboxTesting
import Testing

/// A bounded run of the fuzz target; `scripts/fuzz json` runs it without bounds.
@Suite("JSON documents, changed at random")
struct FuzzTests {
  static func mutator(seed: UInt64) -> Mutator {
    Mutator(
      seed: seed,
      seeds: [
        #"{"id":"com.example.issue1","count":-12,"isOn":true,"none":null,"list":[1,2,[],{}]}"#,
        #"["\u00e9\n\"\\\/","é\u2028",0,-1,999999999999999999,{"a":{"b":[{"c":"d"}]}}]"#, " { } ", "\"\"",
        "[[[[[[[[]]]]]]]]", "\t[ true , false , null ]\r\n", #"{"a":1,"a":2}"#, "123", #"{"":""}"#,
      ],
      words: [
        "{", "}", "[", "]", "\"", ":", ",", "\\", "\\u0000", "\\ud83d", "\\ud83d\\ude00", "-", "0", "1e3",
        "1.5", "true",
        "null", "\u{7F}", "\u{FEFF}", "é", "\u{1F600}", "//", "'", "NaN",
      ])
  }

  @Test("no mutation of a document breaks a rule")
  func mutations() {
    var mutator = Self.mutator(seed: 21)
    for _ in 0..<20_000 {
      let bytes = mutator.next()
      if let broken = FuzzTarget.json.check(bytes) {
        Issue.record("\(broken): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
        return
      }
    }
  }

  /// Reads lines of hexadecimal digits, and writes what Python's own reader makes of each; nothing for what it refuses.
  private static let script = """
    import json, sys
    def pairs(members):
        names = [name for name, _ in members]
        if len(set(names)) != len(names): raise KeyError()
        return dict(members)
    def spelled(text): return "(" + " ".join(format(ord(letter), "x") for letter in text) + ")"
    def text(value):
        if value is None: return "null"
        if value is True or value is False: return str(value).lower()
        if isinstance(value, int): return str(value)
        if isinstance(value, str): return spelled(value)
        if isinstance(value, list): return "[" + ",".join(map(text, value)) + "]"
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-8", "surrogatepass"))
        return "{" + ",".join(spelled(name) + ":" + text(inner) for name, inner in members) + "}"
    for line in sys.stdin:
        try:
            print(text(json.loads(bytes.fromhex(line).decode("utf-8"), object_pairs_hook=pairs)))
        except KeyError:
            print("twice")
        except (ValueError, TypeError, AttributeError, RecursionError):
            print("")
    """

  @Test("what is read is what Python's reader reads, which shares no code with it either")
  func python() throws {
    let directory = try TemporaryDirectory()
    var mutator = Self.mutator(seed: 22)
    let documents = (0..<20_000).map { _ in mutator.next() }
    let digits = documents.map { bytes in
      bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined() + "\n"
    }.joined()
    try Data(digits.utf8).write(to: URL(filePath: directory.path("documents")))
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = ["-c", Self.script]
    process.standardInput = try FileHandle(forReadingFrom: URL(filePath: directory.path("documents")))
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let printed = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    let theirs = printed.split(separator: "\n", omittingEmptySubsequences: false)
    try #require(process.terminationStatus == 0 && theirs.count == documents.count + 1)
    var read = 0
    for (bytes, theirs) in zip(documents, theirs) {
      guard let ours = JSONDocumentReader.value(JSONProperties.Document.self, in: bytes) else { continue }
      // Names that stand twice are compared with Foundation's alone: Python takes the last one.
      if theirs == "twice" { continue }
      read += 1
      #expect(ours.description == theirs, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
    }
    #expect(read > 1000)
  }
}
