import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxDoctor
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `doctor [URL]`: observes the device and the server, and prints what ``PullboxDoctor`` finds in that
/// (docs/doctor.md).
///
/// It asks the agent first, which knows the server that this device uses. The order of servers is the
/// operand, `--server`, the agent's, the default one.
enum DoctorCommand: Command {
  static let peer = CommandPeer.serverAndAgent
  /// How long a body rests unless `--pause` says so.
  static let defaultPause = "5s"
  static let description = CommandDescription(
    "doctor", summary: "Find what lies in the way of downloads, and the line that removes it",
    discussion: """
      Asks the delivery server at URL as agents do, through whatever proxy is there. Without URL it is the server that this \
      device's agent uses, unless --server names one. Asks this device's agent as well, where there is one. Prints a line \
      for each check, and for a failed one the line of the proxy's configuration. With an operator key it also tries \
      uploads, which it removes. It ends with 0 if no check failed, with or without warnings, 1 if one failed, 4 if none \
      failed and one could not be decided.
      """,
    operands: [.init("URL", isRequired: false)],
    options: [
      .flag(
        "deep", environment: .none,
        help: "Fetch bodies of more than 1 GiB and 2 GiB as well, which takes minutes"),
      .value(
        "pause", "DURATION", environment: .none, fallback: defaultPause,
        help: "How long a body rests, to find a proxy that cuts it: up to 3m"),
    ])

  /// A device without an agent is a finding only if no server was named.
  static func run(_ context: CommandContext) async throws {
    let pause = try pause(context.arguments.value("pause") ?? defaultPause)
    let device = await DeviceProber(socketPath: context.agentSocket).observe()
    let named = context.arguments.operands.first ?? context.arguments.value("server")
    let url = try url(named ?? device.server ?? CommandContext.defaultServer)
    var findings: [Finding] = []
    if case .noSocket = device.answer, named != nil {
      context.console.note("no agent at \(device.socketPath): only the server is examined")
    } else {
      findings += DeviceDiagnosis.findings(device)
    }
    context.console.note("asking \(url)" + (context.arguments.isSet("deep") ? "; this takes minutes" : ""))
    var options = ServerProber.Options()
    options.isDeep = context.arguments.isSet("deep")
    options.pause = pause
    options.operatorKey = context.arguments.value("operator-key")
    options.certificateAuthorityFile = context.arguments.value("ca-file")
    let seen = await ServerProber(url: url, client: try HTTPClient(), options: options).observe()
    findings += ServerDiagnosis.findings(seen)
    try report(findings, proxy: seen.proxy, on: context.console)
  }

  /// Prints the findings, and throws if they are not all well. Throws without a message, since the findings
  /// have been printed: code 1 for a failure, 4 where one could not be decided. With `--json` each finding is
  /// an object.
  static func report(_ findings: [Finding], proxy: Proxy?, on console: Console) throws {
    for finding in findings {
      if console.printsJSON {
        try console.print(json: FindingDocument(finding))
      } else {
        for line in FindingText.lines(finding, proxy: proxy) { console.print(line) }
      }
    }
    switch Finding.conclusion(findings) {
    case .ok, .warning: break
    case .failure: throw CommandFailure(.failed, "")
    case .undetermined: throw CommandFailure(.undetermined, "")
    }
  }

  /// Whole seconds, 1 to 180; a fraction is dropped.
  static func pause(_ text: String) throws(UsageError) -> Duration {
    guard let pause = ConfigurationDuration(text)?.duration,
      (1...Int64(DiagnosticContent.maximumPause)).contains(pause.components.seconds)
    else {
      throw UsageError("--pause takes a duration from 1s to 3m, not '\(text)'")
    }
    return .seconds(pause.components.seconds)
  }

  /// An address of the server. What may hold a password is refused and not repeated. It does not check more:
  /// what else is wrong with it is a finding.
  static func url(_ text: String) throws(UsageError) -> String {
    guard !text.contains("@") else {
      throw UsageError("an address without user and password is expected, such as https://pull.example")
    }
    guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
      throw UsageError("an address such as https://pull.example is expected, not '\(text)'")
    }
    guard !text.contains("?"), !text.contains("#") else {
      throw UsageError("an address without a query is expected, such as https://pull.example")
    }
    return text
  }
}

/// A finding in words: its line, and below it what removes its cause. Pure.
enum FindingText {
  /// Below a finding, lines begin under its name.
  private static let indentation = String(repeating: " ", count: 9)
  /// The width of the column of names; a longer name moves its own message to the right.
  private static let nameWidth = 18

  /// `proxy` is the one that was recognized; without one the lines of all are shown.
  static func lines(_ finding: Finding, proxy: Proxy?) -> [String] {
    let word =
      switch finding.verdict {
      case .ok: "ok"
      case .warning: "warn"
      case .failure: "FAIL"
      case .undetermined: "unknown"
      }
    let first = padded(word, to: indentation.count) + padded(finding.check, to: nameWidth) + finding.message
    guard let remedy = finding.cause?.remedy else { return [first] }
    let shown = proxy.flatMap { remedy.lines[$0] != nil ? [$0] : nil } ?? Proxy.allCases
    let lines = shown.compactMap { proxy in remedy.lines[proxy].map { "\(indentation)\(proxy.name): \($0)" } }
    return [first] + (remedy.advice.map { [indentation + $0] } ?? []) + lines
  }

  /// At least one space follows.
  private static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}
