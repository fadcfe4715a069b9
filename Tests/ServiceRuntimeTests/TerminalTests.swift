import CoreTypes
import Testing

@testable import ServiceRuntime

struct TerminalTests {
  private static let progress = ProgressLine(
    label: "Heroes 42", fraction: 0.625, done: .kibibytes(640), total: .mebibytes(1), speed: .kibibytes(64),
    timeRemaining: .seconds(6))

  @Test("a plain line says everything")
  func plain() {
    #expect(Self.progress.plain == "Heroes 42: 62 %, 640.0 KiB of 1.0 MiB, 64.0 KiB/s, 6 s left")
    #expect(ProgressLine(label: "x", done: .kibibytes(1)).plain == "x: 1.0 KiB")
    var waiting = Self.progress
    waiting.note = "no network"
    #expect(waiting.plain == "Heroes 42: 62 %, 640.0 KiB of 1.0 MiB, no network")
  }

  @Test("a wide terminal gets a bar")
  func wide() {
    #expect(
      Self.progress.line(columns: 100)
        == "Heroes 42  [##################------------]   62 %  640.0 KiB of 1.0 MiB  64.0 KiB/s  6 s left")
    #expect(
      Self.progress.line(columns: 80)
        == "Heroes 42  [##########------]   62 %  640.0 KiB of 1.0 MiB  64.0 KiB/s  6 s left")
  }

  @Test("as the terminal gets narrower the amount goes, then the speed, then the time, then the bar")
  func narrow() {
    #expect(
      Self.progress.line(columns: 70)
        == "Heroes 42  [#################-----------]   62 %  64.0 KiB/s  6 s left")
    #expect(Self.progress.line(columns: 49) == "Heroes 42  [###########--------]   62 %  6 s left")
    #expect(Self.progress.line(columns: 37) == "Heroes 42  [##########-------]   62 %")
    #expect(Self.progress.line(columns: 27) == "Heroes 42   62 %  6 s left")
    #expect(Self.progress.line(columns: 12) == "H… 42   62 %")
  }

  @Test("a long label loses its middle before the bar goes")
  func longLabel() {
    var progress = Self.progress
    progress.label = "com.example.heroes.issue42 1.10"
    #expect(progress.line(columns: 60) == "com.ex…issue42 1.10  [#####---]   62 %  64.0 KiB/s  6 s left")
    progress.note = "waiting (server-unreachable)"
    #expect(progress.line(columns: 60) == "com.exa…es.issue42 1.10   62 %  waiting (server-unreachable)")
    #expect(progress.line(columns: 45) == "com.e…sue42 1.10   62 %  waiting (server-unr…")
  }

  @Test("several lines stand in columns")
  func columns() {
    let other = ProgressLine(label: "Moss & Mallow 3", done: .kibibytes(3), note: "waiting (queued)")
    #expect(
      ProgressLine.lines([Self.progress, other], columns: 80) == [
        "Heroes 42        [#####---]   62 %  640.0 KiB of 1.0 MiB  64.0 KiB/s  6 s left",
        "Moss & Mallow 3                     3.0 KiB  waiting (queued)",
      ])
    #expect(
      ProgressLine.lines([Self.progress, other], columns: 62) == [
        "Heroes 42        [#####---]   62 %  64.0 KiB/s  6 s left",
        "Moss & Mallow 3                     3.0 KiB  waiting (queued)",
      ])
  }

  @Test("no columns are wider than the terminal", arguments: 0...120)
  func columnsFit(columns: Int) {
    var waiting = Self.progress
    waiting.label = "com.example.a-long-name.issue42 1.0"
    waiting.note = "waiting (server-unreachable)"
    for line in ProgressLine.lines([Self.progress, waiting], columns: columns) {
      #expect(TextWidth.of(line) <= columns)
    }
  }

  @Test("no line is wider than the terminal", arguments: 0...120)
  func fits(columns: Int) {
    var lines = [Self.progress]
    lines.append(
      ProgressLine(label: "英雄第四十二号と長い題名の漫画", fraction: 1, done: .gibibytes(2), total: .gibibytes(2)))
    lines.append(ProgressLine(label: "", done: .zero, note: "waiting for the store to answer"))
    for line in lines { #expect(TextWidth.of(line.line(columns: columns)) <= columns) }
  }

  @Test("only what is done is a hundred per cent and a full bar")
  func rounding() {
    let almost = ProgressLine(label: "x", fraction: 0.9999, done: .zero)
    #expect(almost.plain == "x: 99 %, 0 B")
    #expect(almost.line(columns: 60).contains("-]"))
    let done = ProgressLine(label: "x", fraction: 1, done: .zero)
    #expect(done.plain == "x: 100 %, 0 B")
    #expect(done.line(columns: 60).contains("#]  100 %"))
  }

  @Test("a label cannot move the cursor")
  func control() {
    #expect(ProgressLine(label: "a\u{1b}[2Jb\nc", done: .zero).plain == "a[2Jb c: 0 B")
  }

  @Test(
    "durations are told in two units",
    arguments: [
      (Duration.seconds(-5), "0 s"), (.milliseconds(999), "0 s"), (.seconds(12), "12 s"),
      (.seconds(60), "1 min"),
      (.seconds(185), "3 min 5 s"), (.seconds(7440), "2 h 4 min"), (.seconds(7200), "2 h"),
      (.seconds(273_600), "3 d 4 h"),
    ])
  func durations(duration: Duration, text: String) {
    #expect(DurationText.short(duration) == text)
  }

  @Test(
    "an estimate in words has the same figures, and one of a unit is one",
    arguments: [
      (Duration.seconds(-1), "0 seconds"), (.seconds(1), "1 second"), (.seconds(59), "59 seconds"),
      (.seconds(60), "about 1 minute"), (.seconds(200), "about 3 minutes"), (.seconds(3570), "about 1 hour"),
      (.seconds(4800), "about 1 hour 20 minutes"), (.seconds(35_700), "about 10 hours"),
      (.seconds(172_800), "about 2 days"),
    ])
  func estimateInWords(duration: Duration, text: String) {
    #expect(DurationText.estimateInWords(duration) == text)
  }

  @Test(
    "an estimate has as many figures as it is worth",
    arguments: [
      (Duration.seconds(-1), "0 s"), (.seconds(59), "59 s"), (.seconds(60), "about 1 min"),
      (.seconds(89), "about 1 min"), (.seconds(200), "about 3 min"), (.seconds(3569), "about 59 min"),
      (.seconds(3570), "about 1 h"), (.seconds(4800), "about 1 h 20 min"), (.seconds(35_700), "about 10 h"),
      (.seconds(50_000), "about 14 h"), (.seconds(172_800), "about 2 d"),
    ])
  func estimate(duration: Duration, text: String) {
    #expect(DurationText.estimate(duration) == text)
  }

  @Test(
    "what took less than ten seconds is told with a tenth",
    arguments: [
      (Duration.milliseconds(-50), "0.0 s"), (.milliseconds(449), "0.4 s"), (.milliseconds(9999), "9.9 s"),
      (.seconds(10), "10 s"), (.seconds(185), "3 min 5 s"),
    ])
  func elapsed(duration: Duration, text: String) {
    #expect(DurationText.elapsed(duration) == text)
  }

  @Test("wide characters take two columns, and a cut never splits one")
  func width() {
    #expect(TextWidth.of("abc") == 3)
    #expect(TextWidth.of("漫画") == 4)
    #expect(TextWidth.of("e\u{301}") == 1)
    #expect(TextWidth.cut("漫画です", to: 8) == "漫画です")
    #expect(TextWidth.cut("漫画です", to: 6) == "漫画…")
    #expect(TextWidth.cut("abc", to: 0) == "")
    #expect(TextWidth.cutMiddle("com.example.issue42", to: 10) == "com…ssue42")
    #expect(TextWidth.cutMiddle("漫画です漫画", to: 7) == "漫…漫画")
    #expect(TextWidth.cutMiddle("abc", to: 3) == "abc")
    #expect(TextWidth.cutMiddle("abcd", to: 1) == "…")
  }
}
