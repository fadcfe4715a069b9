import ServiceRuntime
import SystemCalls

/// A question before a step that readers feel. It is asked where there is somebody to answer it: on a terminal, and not
/// with `--yes` or `--json`.
enum Confirmation {
  static func isAsked(_ context: CommandContext) -> Bool {
    !context.arguments.isSet("yes") && !context.console.printsJSON && Terminal.standardInput.isTerminal
      && Terminal.standardError.isTerminal
  }

  /// Throws when the answer is not yes.
  static func ask(_ question: String) async throws {
    StandardStream.error.write("\(question) [y/N] ")
    let answer = await BlockingPool.shared.run { readLine() }
    // At the end of input the terminal's line is not over.
    if answer == nil { StandardStream.error.write("\n") }
    guard isYes(answer) else { throw CommandFailure(.failed, "nothing was changed") }
  }

  static func isYes(_ answer: String?) -> Bool {
    ["y", "yes"].contains(answer?.split(separator: " ").joined().lowercased())
  }
}

extension CommandOption {
  static let confirmed = CommandOption.flag(
    "yes", abbreviation: "y", environment: .some(nil), help: "Do not ask; without a terminal nothing is asked"
  )
}
