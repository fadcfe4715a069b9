import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// `conditions`: what of this machine downloads may wait for, and who tells it.
enum ConditionsCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "conditions", summary: "Show the conditions of this machine that downloads wait for",
    discussion: """
      A metered way, a log-in page, no network, the battery, power saving, sleep, and \
      other work: whether it is so, who tells it, since when, and how many downloads it \
      holds. What no source tells is unknown, and holds nothing. 'pullbox resume --now' or \
      '--ignore' has one download pass a condition; the agent's configuration says \
      which count.
      """)

  /// Prints a table of the conditions, then one of those who tell them. With `--json` it is the agent's document.
  static func run(_ context: CommandContext) async throws {
    let answer = try await context.agent().conditions()
    if context.console.printsJSON {
      try context.console.print(json: answer)
      return
    }
    let width = Terminal.standardOutput.columns
    for line in ConditionsReport.lines(of: answer, width: width) { context.console.print(line) }
  }
}

/// The report of the machine's conditions. Pure, but for the time zone.
enum ConditionsReport {
  /// No line is wider than `width`; nil is no bound.
  static func lines(of answer: ConditionsResponse, width: Int?) -> [String] {
    let conditions = TextTable(
      columns: [
        .name("CONDITION"), .text("STATE"), .text("SOURCE"), .text("SINCE"), .text("HOLDS"),
        .sentence("PASSED BY"),
      ],
      rows: answer.conditions.map { condition in
        let origin = [condition.device, condition.source.map { "by \($0)" }].compactMap { $0 }
        return [
          condition.name.rawValue, state(of: condition), origin.joined(separator: ", "),
          condition.since.map(LocalTime.text) ?? "", holds(of: condition),
          condition.rule == .wait ? passage(of: condition.name) : "",
        ]
      })
    let sources = TextTable(
      columns: [.name("SOURCE"), .text("STATE"), .text("SINCE"), .sentence("WHY")],
      rows: answer.sources.map { source in
        [source.name, source.state.rawValue, source.since.map(LocalTime.text) ?? "", source.error ?? ""]
      })
    return conditions.lines(width: width)
      + (answer.sources.isEmpty ? [] : [""] + sources.lines(width: width))
  }

  /// The options of `resume` by which a download passes the condition; empty for one that none passes.
  static func passage(of name: MachineConditionName) -> String {
    switch name {
    case .metered, .batteryLow, .onBattery, .powerSaver, .busy: "--now, --ignore \(name.rawValue)"
    case .portal: "--ignore portal"
    case .offline, .sleep: ""
    }
  }

  private static func state(of condition: MachineConditionStatus) -> String {
    guard let level = condition.level else { return condition.state.rawValue }
    return "\(condition.state.rawValue), \(level) %"
  }

  private static func holds(of condition: MachineConditionStatus) -> String {
    guard condition.rule == .wait else { return "ignored" }
    guard condition.state == .yes else { return "" }
    return condition.holds == 0 ? "nothing now" : CountText.of(condition.holds, "download")
  }
}

extension CommandOption {
  /// The conditions that a download passes.
  static let ignoredConditions = CommandOption.list(
    "ignore", "CONDITION", environment: .none,
    help: "Have the download pass this condition of the machine, such as metered; given once or more")
}

extension CommandContext {
  /// The conditions of `--ignore`; nil where none is given. Another word is wrong usage.
  func ignoredConditions() throws(UsageError) -> [MachineConditionName]? {
    let words = arguments.values("ignore")
    guard !words.isEmpty else { return nil }
    var names: [MachineConditionName] = []
    for word in words {
      guard let name = MachineConditionName(rawValue: word), MachineConditionName.ignorable.contains(name)
      else {
        let known = MachineConditionName.allCases.filter(MachineConditionName.ignorable.contains)
        throw UsageError(
          "CONDITION is one of \(known.map(\.rawValue).joined(separator: ", ")), not '\(word)'")
      }
      names.append(name)
    }
    return names
  }
}
