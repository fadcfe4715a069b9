import CoreTypes
import PullboxTesting
import ServiceRuntime
import Synchronization
import Testing

struct LogTests {
  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ bytes: [UInt8]) { lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
  }

  private func log(_ lines: Lines, level: LogLevel = .info, format: Log.Format = .json) -> Log {
    Log(level: level, format: format, clock: ManualWallClock(), output: { lines.add($0) })
  }

  @Test("a line is one JSON object: time, level, message, then the fields in order")
  func json() {
    let lines = Lines()
    log(lines).with(["service": "server"]).info(
      "listening", ["address": "127.0.0.1:8080", "loops": 2, "ratio": 0.5, "tls": false, "peer": nil])
    #expect(
      lines.all == [
        #"{"time":"2026-11-21T08:30:00.000Z","level":"info","message":"listening","service":"server","#
          + #""address":"127.0.0.1:8080","loops":2,"ratio":0.5,"tls":false,"peer":null}"# + "\n"
      ])
  }

  @Test("a line for people is short")
  func plain() {
    let lines = Lines()
    log(lines, format: .plain).warning("slow disk", ["path": "/a b", "seconds": 3])
    #expect(lines.all == ["08:30:00.000 warning  slow disk  path=\"/a b\"  seconds=3\n"])
  }

  @Test("what a level does not include is not written, nor even put together")
  func levels() {
    let lines = Lines()
    let log = log(lines, level: .warning)
    log.error("1")
    log.warning("2")
    log.info(
      {
        Issue.record("put together")
        return "3"
      }())
    log.debug(
      {
        Issue.record("put together")
        return "4"
      }())
    #expect(lines.all.count == 2)
    log.with([:]).level = .debug
    log.debug("4")
    #expect(lines.all.count == 3)
  }

  @Test("no text breaks its line or its string, in either form")
  func escaping() {
    let lines = Lines()
    let evil = "a\"b\\c\nd\r\te\u{1b}[31m\u{0}\u{85}é"
    log(lines).info("x", ["evil": LogValue(evil)])
    log(lines, format: .plain).info("x", ["evil": LogValue(evil)])
    #expect(lines.all[0].contains(#""evil":"a\"b\\c\nd\r\te\u001b[31m\u0000\u0085é""#))
    for line in lines.all { #expect(line.unicodeScalars.filter { $0.value < 0x20 } == ["\n"]) }
  }

  @Test(
    "a text for people neither turns its line around nor reads as another field",
    arguments: [
      ("a\u{202E}b\u{200B}\u{2028}", "x=ab"), ("a\"  grant=\"b", #"x="a\"  grant=\"b""#),
      ("a=b", #"x="a=b""#),
      ("a\\\" b", #"x="a\\\" b""#), ("a\"\u{301} b", "x=\"a\\\"\u{301} b\""), ("c:\\d", #"x=c:\d"#),
    ])
  func visible(text: String, field: String) {
    let lines = Lines()
    log(lines, format: .plain).info("m", ["x": LogValue(text)])
    #expect(lines.all == ["08:30:00.000 info     m  \(field)\n"])
  }

  @Test("a field never takes the place of the line's own members")
  func reserved() {
    let lines = Lines()
    log(lines).info("m", ["level": "error", "time": "never"])
    #expect(lines.all[0].contains(#""level":"info""#))
    #expect(lines.all[0].contains(#""level_":"error","time_":"never""#))
  }

  @Test("a line stays within 4096 bytes and is still one object", arguments: [Log.Format.json, .plain])
  func bounds(format: Log.Format) {
    let lines = Lines()
    let long = String(repeating: "é\u{1}", count: 3000)
    log(lines, format: format).info(
      long,
      [
        "a": LogValue(long), "b": LogValue(long), "c": LogValue(long), "d": LogValue(long),
        "e": LogValue(long),
      ])
    #expect(lines.all[0].utf8.count <= 4096)
    #expect(lines.all[0].hasSuffix(format == .json ? ",\"truncated\":true}\n" : "…\n"))
  }

  @Test("a secret is never printed, however it is asked for")
  func redacted() {
    struct Holder { let key = Redacted("s3cret") }
    let secret = Redacted("s3cret")
    var dumped = ""
    dump(Holder(), to: &dumped)
    for text in [
      "\(secret)", String(describing: secret), String(reflecting: secret), "\(Holder())", dumped,
      "\([secret])",
      "\(Optional(secret) as Any)",
    ] {
      #expect(!text.contains("s3cret"), "\(text)")
    }
    let lines = Lines()
    log(lines).info("made a key", ["key": LogValue(secret), "also": "\(secret)"])
    #expect(lines.all[0].contains(#""key":"<redacted>","also":"<redacted>""#))
    #expect(secret.revealed == "s3cret")
  }

  @Test("levels have names", arguments: LogLevel.allCases)
  func names(level: LogLevel) {
    #expect(LogLevel(name: level.name) == level)
    #expect(LogLevel(name: level.name.uppercased()) == nil)
  }
}
