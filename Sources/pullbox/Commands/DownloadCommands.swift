import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime

/// `pause`: stops downloads where they are. With `--all` those that are paused already are not asked for.
enum PauseCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "pause", summary: "Pause downloads; verified pieces are kept",
    discussion: DownloadSelector.explanation,
    operands: [.download(isRequired: false, repeats: true)],
    options: [.flag("all", environment: .none, help: "Pause every download that is not over")])

  /// Pauses each download that is chosen, one request after the other.
  static func run(_ context: CommandContext) async throws {
    try await DownloadSelector.change(context, allOf: { !$0.state.isFinal && $0.state != .paused }) {
      try await $0.pause($1)
    }
  }
}

/// `resume`: has the agent go on with downloads. With `--all` the cancelled ones stay as they are.
enum ResumeCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "resume", summary: "Resume downloads that are paused, failed or were cancelled",
    discussion: DownloadSelector.explanation,
    operands: [.download(isRequired: false, repeats: true)],
    options: [
      .flag("all", environment: .none, help: "Resume every download that is paused or failed"),
      .flag(
        "now", environment: .none,
        help: "Want it now: it passes windows, the budget, metered ways and the battery"),
      .ignoredConditions,
    ])

  /// Resumes each download that is chosen, one request after the other. What a download is to pass is told first, so that it begins at
  /// once.
  static func run(_ context: CommandContext) async throws {
    let ignored = try context.ignoredConditions()
    let isUrgent = context.arguments.isSet("now")
    try await DownloadSelector.change(context, allOf: { $0.state == .paused || $0.state == .failed }) {
      if let ignored { try await $0.ignore(ignored, for: $1) }
      if isUrgent { try await $0.setUrgency(.now, of: $1) }
      return try await $0.resume($1)
    }
  }
}

/// `cancel`: ends downloads and removes what they have fetched. It asks with `--all` only.
enum CancelCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "cancel", summary: "Cancel downloads; the purchases stay and can be restored",
    discussion: DownloadSelector.explanation,
    operands: [.download(isRequired: false, repeats: true)],
    options: [
      .flag("all", environment: .none, help: "Cancel every download that is not over"), .confirmed,
    ])

  /// Cancels each download that is chosen, after the question of `--all`.
  static func run(_ context: CommandContext) async throws {
    try await DownloadSelector.change(context, allOf: { !$0.state.isFinal }) { agent, id in
      try await agent.cancel(id)
    } confirming: { count in
      "Cancel \(CountText.of(count, "download"))?"
    }
  }
}

/// `priority DOWNLOAD N`: sets the number by which the agent orders downloads.
enum PriorityCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "priority", summary: "Say which downloads go first: the higher number, 0 unless set",
    discussion: "N is -1000 to 1000; one below zero follows '--'. " + DownloadSelector.explanation,
    operands: [.download(), .init("N")])

  /// Checks the number before the agent is asked for downloads. A number outside -1000 to 1000 is wrong usage.
  static func run(_ context: CommandContext) async throws {
    let text = try context.operand(1)
    guard let priority = Int(text), AgentDownloadChange.priorities.contains(priority) else {
      throw UsageError("N is a whole number from -1000 to 1000, not '\(text)'")
    }
    let agent = try context.agent()
    let download = try DownloadSelector.find(try context.operand(0), among: try await agent.downloads())
    try DownloadSelector.print(try await agent.setPriority(priority, of: download.id), on: context.console)
  }
}

/// `urgency DOWNLOAD now|normal|background`: says how urgently a download is wanted.
enum UrgencyCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "urgency", summary: "Say how urgently a download is wanted: now, normal, background",
    discussion:
      "One that is wanted now takes the place of a less urgent one, which goes on later and loses nothing. "
      + "One in the background goes when nothing else wants its place. " + DownloadSelector.explanation,
    operands: [.download(), .init("URGENCY")])

  /// Checks the word before the agent is asked for downloads. Another word is wrong usage.
  static func run(_ context: CommandContext) async throws {
    let text = try context.operand(1)
    guard let urgency = DownloadUrgency(rawValue: text) else {
      throw UsageError("URGENCY is now, normal or background, not '\(text)'")
    }
    let agent = try context.agent()
    let download = try DownloadSelector.find(try context.operand(0), among: try await agent.downloads())
    try DownloadSelector.print(try await agent.setUrgency(urgency, of: download.id), on: context.console)
  }
}

/// Finds the downloads that operands name.
enum DownloadSelector {
  /// The paragraph about DOWNLOAD in the help of each command that takes one.
  static let explanation =
    "DOWNLOAD is the download's identifier, as 'pullbox downloads' shows it, the beginning of that, or the product's identifier."

  /// Makes a change to each download that the operands name, or with `--all` to each that `isIncluded` takes. One that the
  /// agent refuses does not keep the others from it; the command fails then. It ends with the exit code of
  /// the first one that was refused.
  ///
  /// - Parameters:
  ///   - isIncluded: which downloads `--all` means.
  ///   - question: the question before `--all` changes that many; nil asks nothing.
  static func change(
    _ context: CommandContext, allOf isIncluded: (DownloadStatus) -> Bool,
    by change: (AgentClient, DownloadIdentifier) async throws -> DownloadStatus,
    confirming question: ((Int) -> String)? = nil
  ) async throws {
    let words = context.arguments.operands
    let all = context.arguments.isSet("all")
    guard all == words.isEmpty else {
      throw UsageError(all ? "--all goes without DOWNLOAD" : "DOWNLOAD is missing; or give --all")
    }
    let agent = try context.agent()
    let known = try await agent.downloads()
    // A word that names none is found out before anything is changed.
    let chosen = all ? known.filter(isIncluded) : try words.map { try find($0, among: known) }
    if chosen.isEmpty { context.console.note("no download to change") }
    if all, !chosen.isEmpty, let question, Confirmation.isAsked(context) {
      try await Confirmation.ask(question(chosen.count))
    }
    var failures: [CommandFailure] = []
    for download in chosen {
      do {
        try print(try await change(agent, download.id), on: context.console)
      } catch {
        let failure = CommandFailure(error, context: context, peer: .agent)
        guard chosen.count > 1 else { throw failure }
        failures.append(CommandFailure(failure.exitCode, "\(download.id): \(failure.message)"))
      }
    }
    if let first = failures.first {
      throw CommandFailure(
        first.exitCode, "\(failures.count) of \(CountText.of(chosen.count, "download")) did not change:",
        details: failures.map(\.message))
    }
  }

  /// The download with that identifier; else the one live download of that product, or its only one; else the one whose
  /// identifier begins with `text`, which has at least 4 characters. Throws `download-unknown` where there is
  /// none, and where there are several, whose identifiers the message names.
  static func find(_ text: String, among downloads: [DownloadStatus]) throws(APICallError) -> DownloadStatus {
    if let exact = downloads.first(where: { $0.id.description == text }) { return exact }
    let ofProduct = downloads.filter { $0.product.description == text }
    let live = ofProduct.filter { !$0.state.isFinal }
    if let one = live.count == 1 ? live.first : ofProduct.count == 1 ? ofProduct.first : nil { return one }
    let matching =
      ofProduct.isEmpty && text.utf8.count >= 4
      ? downloads.filter { $0.id.description.hasPrefix(text) } : ofProduct
    switch matching.count {
    case 1: return matching[0]
    case 0: throw .problem(Problem(.downloadUnknown, "'\(text)'; 'pullbox downloads' lists them"))
    default:
      let names = matching.map(\.id.description).joined(separator: ", ")
      throw .problem(Problem(.downloadUnknown, "'\(text)' may be any of \(names)"))
    }
  }

  /// A line with the identifier first, or the object of the agent's interface.
  static func print(_ download: DownloadStatus, on console: Console) throws {
    if console.printsJSON {
      try console.print(json: download)
    } else {
      console.print("\(download.id)  \(download.line.plain)")
    }
  }
}
