import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// `readers [add TITLE | remove NAME | local]`: lists the keys by which applications for reading show what this device's account owns, makes
/// one, or ends one. The agent asks the server, with the account's receipt. `local` shows the key of this device's own catalog.
enum ReadersCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "readers", summary: "Let applications for reading (OPDS) in, list them, or end one",
    discussion: """
      'readers add TABLET' makes a key and shows its name and its password, which nothing \
      shows again. The application is given the address, and asks for both. 'readers' lists \
      the keys with their last use, and 'readers remove NAME' ends one: the next request with \
      it is refused. A key counts as a device of the account's. 'readers local' shows the \
      address and the key by which programs of this device read its library without the \
      server, where catalogListen of the agent's configuration says so. On a terminal with \
      colors both show a QR code: the address with the name and the password in it.
      """,
    operands: [
      .init("add|remove|list|local", isRequired: false), .init("TITLE|NAME", isRequired: false),
    ],
    options: [.flag("no-qr", environment: .none, help: "Show no QR code")])

  /// Decides by the number of operands; any other combination is wrong usage. TITLE is one word for the shell.
  static func run(_ context: CommandContext) async throws {
    let operands = context.arguments.operands
    switch (operands.first ?? "list", operands.count) {
    case ("list", 0), ("list", 1): try await list(context)
    case ("add", 2): try await add(operands[1], context)
    case ("remove", 2): try await remove(operands[1], context)
    case ("local", 1): try show(try await context.agent().localReader(), context)
    default: throw UsageError("give nothing, 'add TITLE', 'remove NAME' or 'local'")
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

  /// Makes a key and shows it. This answer is the only one with the password.
  private static func add(_ title: String, _ context: CommandContext) async throws {
    let key = try await context.agent().addReader(
      AgentReaderRequest(title: title, locale: ReaderLocale.tag()))
    try show(key, context)
    if !context.console.printsJSON { context.console.note("The password is not shown again.") }
  }

  /// Prints the address, the name and the password, one a line.
  private static func show(_ key: NewReaderKey, _ context: CommandContext) throws {
    guard !context.console.printsJSON else {
      try context.console.print(json: key)
      return
    }
    for line in ["address   \(key.address)", "name      \(key.name)", "password  \(key.password)"] {
      context.console.print(line)
    }
    let terminal = Terminal.standardOutput
    guard !context.arguments.isSet("no-qr"), let columns = terminal.columns,
      context.console.showsColor(on: terminal), let text = ReaderAddress.text(of: key),
      let code = QRCode(of: text), code.columns <= columns
    else { return }
    for line in code.lines { context.console.print(bytes: Array("\(line)\n".utf8)) }
  }

  /// Ends the key at once. A text that cannot be a name is wrong usage, and an unknown name the server's refusal.
  private static func remove(_ text: String, _ context: CommandContext) async throws {
    guard let name = ReaderName(text) else { throw UsageError("NAME is one that 'readers' lists") }
    try await context.agent().removeReader(name)
    context.console.note("\(name) opens nothing any more.")
  }
}
