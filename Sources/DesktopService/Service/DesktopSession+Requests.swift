internal import CoreTypes
public import MessageBus
internal import ServiceRuntime

// What others ask: the desktop's launcher, its shell, and links.
extension DesktopSession {
  func answer(_ request: BusRequest) async {
    let texts = request.arguments.first?.elements?.compactMap(\.text) ?? []
    if request.path == Self.path, request.interface == Self.readersInterface {
      return await answerReader(request)
    }
    switch (request.path, request.interface, request.member) {
    case (Self.path, "org.freedesktop.Application", "Activate"):
      request.answer.reply()
      await showLibrary()
    case (Self.path, "org.freedesktop.Application", "Open"):
      request.answer.reply()
      for text in texts.prefix(8) { await open(text) }
    case (Self.path, "org.freedesktop.Application", "ActivateAction"): request.answer.reply()
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "GetInitialResultSet"):
      request.answer.reply([.strings(await search().products(matching: texts))])
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "GetSubsearchResultSet"):
      let terms = request.arguments.last?.elements?.compactMap(\.text) ?? []
      request.answer.reply([.strings(await search().products(matching: terms, among: Set(texts)))])
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "GetResultMetas"):
      let search = await search()
      let entries = texts.prefix(LibrarySearch.maximumResults).compactMap { search.entry(of: $0) }
      request.answer.reply([.array(of: "a{sv}", entries.map(Self.meta))])
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "ActivateResult"):
      request.answer.reply()
      if let product = request.arguments.first?.text { await read(product) }
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "LaunchSearch"):
      request.answer.reply()
      await showLibrary()
    default:
      request.answer.refuse(
        "org.freedesktop.DBus.Error.UnknownMethod", "\(request.path) has no method \(request.member)")
    }
  }

  /// Made anew where a library has changed: the shell asks with each key.
  private func search() async -> LibrarySearch {
    var revisions: [Int] = []
    for follower in followers { revisions.append(await follower.revision) }
    if let searched, searched.revisions == revisions { return searched.search }
    var entries: [String: LibrarySearch.Entry] = [:]
    for follower in followers.reversed() {
      for (product, item) in await follower.items {
        entries[product] = .init(product: product, title: item.title, cover: item.cover)
      }
    }
    var search = LibrarySearch()
    search.replace(with: entries.values.sorted { ($0.title, $0.product) < ($1.title, $1.product) })
    searched = (revisions, search)
    return search
  }

  private static func meta(_ entry: LibrarySearch.Entry) -> BusValue {
    .properties([
      "id": .string(entry.product), "name": .string(Notice.text(entry.title)),
      "gicon": .string(entry.cover ?? NotificationServer.application),
    ])
  }

  /// Asks what the link is about; nothing is bought by a link.
  private func open(_ text: String) async {
    guard let link = PullboxLink(text) else {
      return log.info("a link is not understood", ["link": LogValue(String(text.prefix(200)))])
    }
    switch link {
    case .read(let product): await read(product)
    case .restore:
      handle(
        .asked(
          Notice(
            .link, words.restoreTitle, words.restoreQuestion, actions: [.restore, .later], isQuestion: true)))
    case .buy(let product):
      do throws(BusError) {
        let language = String(locale.prefix { $0 != "." && $0 != "@" }.map { $0 == "_" ? "-" : $0 })
        let agent = await follower()
        let answer = try await agent.call(
          "Offer", AgentFollower.agentInterface, AgentFollower.root,
          [.string(product), .string(language == "C" || language == "POSIX" ? "" : language)])
        let offer = answer.first
        let title = Notice.text(offer?["title"]?.text ?? product)
        if offer?["held"]?.flag == true {
          return handle(
            .asked(Notice(.link, title, words.alreadyHeld, actions: [.read(product: product), .later])))
        }
        guard let price = offer?["price"]?.text, !price.isEmpty, let shown = offer?["shown"]?.text else {
          return handle(.asked(Notice(.link, title, words.notForSale)))
        }
        // The first action is the one that a click beside the buttons chooses: never the purchase.
        handle(
          .asked(
            Notice(
              .link, title, words.buyQuestion(Notice.quoted(price)),
              actions: [.later, .buy(product: product, shown: shown, at: agent.place)], isQuestion: true)))
      } catch {
        handle(.asked(Notice(.link, Notice.text(product), Notice.text(error.message))))
      }
    }
  }

  /// Hands links to the program of this session, which the bus starts where it does not run. Throws ``BusError``.
  public static func open(links: [String], environment: [String: String]) async throws(BusError) {
    let bus = try BusConnection.open(.session, environment: environment)
    defer { bus.close() }
    _ = try await bus.call(
      BusMethodCall(
        "Open", of: "org.freedesktop.Application", at: path, destination: busName,
        arguments: [.strings(links), .properties([:])]))
  }
}
