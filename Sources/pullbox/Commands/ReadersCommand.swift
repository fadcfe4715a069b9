import PullboxAPI
import PullboxKit
import ServiceRuntime

/// `readers [add TITLE | remove NAME]`: lists the keys by which applications for reading show what this device's account owns, makes one,
/// or ends one. The agent asks the server, with the account's receipt.
enum ReadersCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "readers", summary: "Let applications for reading (OPDS) in, list them, or end one",
    discussion: """
      'readers add TABLET' makes a key and shows its name and its password, which nothing \
      shows again. The application is given the address, and asks for both. 'readers' lists \
      the keys with their last use, and 'readers remove NAME' ends one: the next request with \
      it is refused. A key counts as a device of the account's.
      """,
    operands: [
      .init("add|remove|list", isRequired: false), .init("TITLE|NAME", isRequired: false),
    ])

  /// Decides by the number of operands; any other combination is wrong usage. TITLE is one word for the shell.
  static func run(_ context: CommandContext) async throws {
    let operands = context.arguments.operands
    switch (operands.first ?? "list", operands.count) {
    case ("list", 0), ("list", 1): try await list(context)
    case ("add", 2): try await add(operands[1], context)
    case ("remove", 2): try await remove(operands[1], context)
    default: throw UsageError("give nothing, 'add TITLE' or 'remove NAME'")
    }
  }

  /// Prints the keys with their last use. A list has no passwords.
  private static func list(_ context: CommandContext) async throws {
    try context.console.print(
      try await context.agent().readers(),
      columns: [.name("NAME"), .text("TITLE"), .text("MADE"), .text("LAST USED")],
      whenEmpty: "no application has a key"
    ) { reader in
      [
        reader.name, reader.title, LocalTime.text(reader.created),
        reader.used.map { LocalTime.text($0) } ?? "never",
      ]
    }
  }

  /// Prints the address, the name and the password, one a line. This answer is the only one with the password.
  private static func add(_ title: String, _ context: CommandContext) async throws {
    let key = try await context.agent().addReader(
      AgentReaderRequest(title: title, locale: ReaderLocale.tag()))
    guard !context.console.printsJSON else {
      try context.console.print(json: key)
      return
    }
    for line in ["address   \(key.address)", "name      \(key.name)", "password  \(key.password)"] {
      context.console.print(line)
    }
    context.console.note("The password is not shown again.")
  }

  /// Ends the key at once. A text that cannot be a name is wrong usage, and an unknown name the server's refusal.
  private static func remove(_ text: String, _ context: CommandContext) async throws {
    guard let name = ReaderName(text) else { throw UsageError("NAME is one that 'readers' lists") }
    try await context.agent().removeReader(name)
    context.console.note("\(name) opens nothing any more.")
  }
}
