internal import Files
internal import MessageBus
internal import ServiceRuntime
internal import SystemCalls

/// `com.pullbox.Desktop1`: content for readers in a sandbox, which do not see the library, and for the agent of the user the word who is in
/// one. This program runs as its user does, and is shown what the agent's unit is not.
extension DesktopSession {
  static let readersInterface: BusInterface = "com.pullbox.Desktop1"

  func answerReader(_ request: BusRequest) async {
    // What began later is not the one who asks.
    let time = ProcessEntry.now()
    let arguments = request.arguments
    do {
      switch (request.member, arguments.map(\.type.description).joined()) {
      case ("Open", "s"):
        let caller = try await callers.look(at: request.sender, since: time).sandbox
        request.answer.reply([
          .string(try await open(arguments[0].text ?? "", for: caller, since: time, request))
        ])
      case ("Show", "sss"):
        try await admitAgent(request, since: time)
        guard let reader = arguments[0].text.flatMap({ BusName($0) }), reader.isUnique else {
          throw BusError(
            .refused, "the first argument is no unique name", name: "org.freedesktop.DBus.Error.InvalidArgs")
        }
        let caller = try await callers.look(at: reader, since: time).sandbox
        request.answer.reply([
          .string(try await path(arguments[2].text ?? "", of: arguments[1].text ?? "", for: caller))
        ])
      case ("Sandbox", "u"):
        try await admitAgent(request, since: time)
        guard let process = arguments[0].number.flatMap(Int32.init(exactly:)) else {
          throw DocumentError(.unknownCaller, "that is no process's number")
        }
        let found = try await callers.look(at: process, since: time)
        request.answer.reply([.string(found.sandbox.application ?? ""), .uint64(found.began)])
      default:
        request.answer.refuse(
          "org.freedesktop.DBus.Error.UnknownMethod",
          "\(Self.readersInterface) has no method \(request.member) with these arguments")
      }
    } catch {
      refuse(request, error)
    }
  }

  /// Opens a product at the agent that holds it, the user's own first, and answers where the caller finds its content.
  private func open(
    _ product: String, for caller: ProcessSandbox, since time: UInt64, _ request: BusRequest
  ) async throws -> String {
    for follower in followers {
      guard let item = await follower.items[product] else { continue }
      let answer = try await follower.call(
        "Open", "com.pullbox.Agent1.LibraryItem", item.path,
        at: try await agent(of: follower, for: caller, since: time), mayAsk: request.mayAsk)
      guard let content = answer.first?.text, !content.isEmpty else {
        throw DocumentError(.unreadable, "nothing of \(product) is here")
      }
      return try await path(content, of: product, for: caller)
    }
    throw DocumentError(.unreadable, "nothing of \(product) is here")
  }

  /// The name at which the agent is called. For a program in a sandbox, on the user's own bus, it is the connection that is known to be the agent:
  /// a program that has taken the agent's name could name any file. Throws where that is not known.
  private func agent(
    of follower: AgentFollower, for caller: ProcessSandbox, since time: UInt64
  ) async throws(BusError) -> BusName {
    guard caller.application != nil, follower.bus === callers.bus else { return AgentFollower.agent }
    guard let agent = await callers.agent(since: time) else { throw Self.noAgent }
    return agent
  }

  /// The path at which the caller finds the content: that of the library, or that of a document of its own.
  private func path(
    _ content: String, of product: String, for caller: ProcessSandbox
  ) async throws(DocumentError) -> String {
    guard let application = caller.application else { return content }
    return try await documents.show(content, of: product, to: application)
  }

  /// Throws for another than the agent of this user: a program in a sandbox could have any file shown to it.
  private func admitAgent(_ request: BusRequest, since time: UInt64) async throws(BusError) {
    guard await callers.isAgent(request.sender, since: time) else { throw Self.noAgent }
  }

  private static let noAgent = BusError(
    .refused, "only \(AgentFollower.agent) of this user, in no sandbox, may have content shown",
    name: "org.freedesktop.DBus.Error.AccessDenied")

  private func refuse(_ request: BusRequest, _ error: any Error) {
    let failed: BusInterface = "org.freedesktop.DBus.Error.Failed"
    switch error {
    case let error as DocumentError:
      request.answer.refuse(
        BusInterface("\(Self.readersInterface).Error.\(error.code.rawValue)") ?? failed, error.message)
    case let error as BusError:
      request.answer.refuse(error.name.flatMap { BusInterface($0) } ?? failed, error.message)
    default: request.answer.refuse(failed, "\(error)")
    }
    log.debug(
      "content is not shown to a program",
      [
        "method": LogValue(request.member), "bus": LogValue(request.sender.description),
        "error": LogValue(error),
      ])
  }
}

extension ProcessSandbox {
  /// The application; nil in no sandbox.
  fileprivate var application: String? {
    if case .application(let name) = self { name } else { nil }
  }
}
