import Testing

@testable import ServiceRuntime

@Suite("Secrets of the command line")
struct CommandLineSecretsTests {
  @Test("the value of a secret option is hidden in each way that it may be given, and nothing else is")
  func hidden() {
    let line = "program\0--key\0s3cret\0--key=s3cret\0-ks3cret\0--name\0not-s3cret\0--key=\0"
    let bytes = Array(line.utf8)
    let hidden = CommandLineSecrets.ranges(of: ["s3cret", ""], in: bytes)
    #expect(hidden.map { String(decoding: bytes[$0], as: UTF8.self) } == ["s3cret", "s3cret", "s3cret"])
    var rest = bytes
    for range in hidden.reversed() { rest.removeSubrange(range) }
    #expect(
      String(decoding: rest, as: UTF8.self)
        == "program\0--key\0\0--key=\0-k\0--name\0not-s3cret\0--key=\0")
  }

  @Test("the arguments' place is read from a status whose program has any name (proc(5))")
  func place() {
    // The fields from the third on, of which the 48th and the 49th are the place.
    let fields = (3...52).map { $0 == 48 ? "4096" : $0 == 49 ? "8192" : "\($0)" }.joined(separator: " ")
    #expect(CommandLineSecrets.place(in: "7 (a) b) \(fields)\n") == 4096..<8192)
    #expect(CommandLineSecrets.place(in: "7 (a) \(fields.replacing("4096", with: "0"))") == nil)
    #expect(CommandLineSecrets.place(in: "7 (a) 1 2 3") == nil)
    #expect(CommandLineSecrets.place(in: "") == nil)
  }
}
