import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import HTTPServer
import MessageBus
import PullboxAPI
import ServiceRuntime

/// An answer of the bus that is an error.
struct BusRefusal: Error {
  /// The name of the error.
  var name: BusInterface
  /// A sentence for people.
  var message: String

  static func limits(_ message: String) -> BusRefusal {
    BusRefusal(name: "org.freedesktop.DBus.Error.LimitsExceeded", message: message)
  }
  static func arguments(_ message: String) -> BusRefusal {
    BusRefusal(name: "org.freedesktop.DBus.Error.InvalidArgs", message: message)
  }
  static func method(_ message: String) -> BusRefusal {
    BusRefusal(name: "org.freedesktop.DBus.Error.UnknownMethod", message: message)
  }
  static func object(_ path: BusPath) -> BusRefusal {
    BusRefusal(name: "org.freedesktop.DBus.Error.UnknownObject", message: "there is no \(path)")
  }
  static let access = BusRefusal(
    name: "org.freedesktop.DBus.Error.AccessDenied",
    message: "controlGroup and controlUsers of the agent's configuration, and polkit, say who may")

  /// The error of a refusal: `com.pullbox.Agent1.Error.` and the code's words together, such as `PriceChanged`.
  init(_ problem: Problem) {
    let words = (problem.code?.text ?? "failed").split(separator: "-")
    let word = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    name =
      BusInterface("com.pullbox.Agent1.Error.\(word)") ?? "com.pullbox.Agent1.Error.Failed"
    message = problem.detail ?? problem.title
  }

  init(name: BusInterface, message: String) {
    self.name = name
    self.message = message
  }
}

extension AgentBus {
  /// Downloads and transactions that are listed at most, the newest first.
  static let maximumListed = 200
  /// Products of the library that are listed at most, those that came last first.
  static let maximumProducts = 500

  /// Answers one call of another connection.
  func answer(_ request: BusRequest) async {
    do {
      try await respond(to: request)
    } catch let refusal as BusRefusal {
      request.answer.refuse(refusal.name, refusal.message)
    } catch let problem as Problem {
      let refusal = BusRefusal(problem)
      request.answer.refuse(refusal.name, refusal.message)
    } catch {
      log.error("a call on the bus failed", ["method": LogValue(request.member), "error": LogValue(error)])
      request.answer.refuse(
        "org.freedesktop.DBus.Error.Failed", "the agent has failed at it; its log says why")
    }
  }

  private func respond(to request: BusRequest) async throws {
    switch (request.interface, request.member) {
    case (.introspectable?, "Introspect"), (nil, "Introspect"):
      request.answer.reply([.string(try await introspection(of: request.path))])
    case (.properties?, _): request.answer.reply([try await property(request)].compactMap { $0 })
    case (.objectManager?, "GetManagedObjects") where request.path == BusObject.root:
      try await watch(request) { objects in
        let entries = objects.map { BusEntry(key: .path($0.path), value: $0.interfaces) }
        request.answer.reply([.dictionary(key: "o", value: "a{sa{sv}}", entries)])
      }
    default: try await change(request)
    }
  }

  // MARK: reading

  /// The objects that are listed: downloads, transactions that are not over, and the library.
  func objects() async throws -> [BusObject] {
    let downloads = try await control.downloads.downloads(limit: Self.maximumListed)
    let transactions = try await control.transactions.statuses(.unfinished, limit: Self.maximumListed)
    let items = try await control.library.items()
    let products = Dictionary(grouping: items, by: \.product).values.compactMap { items in
      items.first.flatMap { items.current(of: $0.product) }
    }
    let latest = products.sorted { $0.placedAt > $1.placedAt }.prefix(Self.maximumProducts)
    return downloads.compactMap { BusObject($0) } + transactions.compactMap { BusObject($0) }
      + latest.compactMap { BusObject($0) }
  }

  /// The object at a path, whether or not it is listed. Throws ``BusRefusal`` where there is none.
  private func object(at path: BusPath) async throws -> BusObject {
    let found: BusObject?
    if path == BusObject.root {
      found = BusObject(
        path: path, interface: BusContract.agent.name,
        properties: [
          "Version": .string(ProductVersion.current), "Device": .string("\(control.identity.identifier)"),
          "LibraryPath": .string(control.library.paths.library), "Inhibited": .boolean(isInhibited),
        ])
    } else if let text = path.identifier(below: BusObject.downloads), let id = DownloadIdentifier(text) {
      found = BusObject(try await control.downloads.status(id))
    } else if let text = path.identifier(below: BusObject.transactions), let id = TransactionIdentifier(text)
    {
      found = try await control.transactions.status(id).flatMap { BusObject($0) }
    } else if let text = path.identifier(below: BusObject.library), let product = ProductIdentifier(text) {
      found = try await control.library.items().current(of: product).flatMap { BusObject($0) }
    } else {
      found = nil
    }
    guard let found else { throw BusRefusal.object(path) }
    return found
  }

  private func property(_ request: BusRequest) async throws -> BusValue? {
    let object = try await object(at: request.path)
    let texts = request.arguments.compactMap(\.text)
    switch (request.member, request.arguments.count) {
    case ("GetAll", 1) where texts.count == 1:
      guard texts[0] == object.interface.description || texts[0].isEmpty else { return .properties([:]) }
      return .properties(object.properties)
    case ("Get", 2) where texts.count == 2:
      guard texts[0] == object.interface.description || texts[0].isEmpty,
        let value = object.properties[texts[1]]
      else {
        throw BusRefusal(
          name: "org.freedesktop.DBus.Error.UnknownProperty", message: "there is no property \(texts[1])")
      }
      return .variant(value)
    case ("Set", _):
      throw BusRefusal(
        name: "org.freedesktop.DBus.Error.PropertyReadOnly", message: "properties are changed by methods")
    default: throw BusRefusal.method("\(request.member) with these arguments is no method of properties")
    }
  }

  private func introspection(of path: BusPath) async throws -> String {
    let standard: [BusInterfaceDescription] = [.introspectable, .properties]
    if path == BusObject.root {
      return BusInterfaceDescription.document(
        standard + [.objectManager, BusContract.agent], children: ["downloads", "library", "transactions"])
    }
    for (parent, interface) in [
      (BusObject.downloads, BusContract.download), (BusObject.transactions, BusContract.transaction),
      (BusObject.library, BusContract.libraryItem),
    ] {
      if path == parent {
        let children = try await objects().map(\.path.description)
          .filter { $0.hasPrefix(parent.description + "/") }
        return BusInterfaceDescription.document(
          [.introspectable], children: children.map { String($0.dropFirst(parent.description.count + 1)) })
      }
      if path.identifier(below: parent) != nil {
        _ = try await object(at: path)
        return BusInterfaceDescription.document(standard + [interface])
      }
    }
    guard BusObject.root.isWithin(path) else { throw BusRefusal.object(path) }
    let start = path.description == "/" ? 1 : path.description.count + 1
    let child = BusObject.root.description.dropFirst(start).prefix { $0 != "/" }
    return BusInterfaceDescription.document([.introspectable], children: [String(child)])
  }

  /// The answer of a method that changes nothing.
  private func read(_ method: String, _ arguments: [BusValue]) async throws -> BusValue {
    guard method == "Offer" else {
      let answer = try await control.shop.subscriptions()
      return .array(of: "a{sv}", answer.subscriptions.map(Self.properties))
    }
    let locale = arguments[1].text ?? ""
    let answer = try await control.shop.products(
      [arguments[0].text ?? ""], locale: locale.isEmpty ? nil : locale)
    guard let product = answer.products.first else {
      throw Problem(.productUnknown, "that product is not for sale here")
    }
    let shown = ShownPrice(of: product.listing, under: product.offer, with: nil)
    let offer: [String: BusValue] = [
      "product": .string(product.listing.id.description), "title": .string(product.listing.title),
      "price": .string(product.listing.price?.formatted ?? ""), "held": .boolean(product.isHeld),
      "shown": .string(shown.description),
    ]
    return .properties(offer)
  }

  private static func properties(_ subscription: StoreSubscription) -> BusValue {
    var properties: [String: BusValue] = [
      "subscription": .string(subscription.originalId.description),
      "product": .string(subscription.product.description), "state": .string(subscription.state.rawValue),
      "renews": .boolean(subscription.autoRenew),
      "expires": .int64(subscription.expiresDate.millisecondsSinceEpoch),
    ]
    if let price = subscription.newPrice {
      properties["newPrice"] = .string("\(price.price)")
      properties["needsConsent"] = .boolean(price.needsConsent)
      properties["accepted"] = .boolean(price.isAccepted)
    }
    return .properties(properties)
  }

  // MARK: changing

  /// Performs a method of the contract for one who may, and logs who asked for it, as the socket does.
  private func change(_ request: BusRequest) async throws {
    let (interface, identifier) = try owner(of: request.path)
    guard let interface, request.interface ?? interface.name == interface.name,
      let method = interface.methods.first(where: { $0.name == request.member })
    else { throw BusRefusal.method("\(request.path) has no method \(request.member)") }
    guard request.arguments.map(\.type) == method.arguments.map(\.type) else {
      throw BusRefusal.arguments(
        "\(method.name) takes " + method.arguments.map { "\($0.name) (\($0.type))" }.joined(separator: ", "))
    }
    guard let action = BusContract.action(of: method.name) else {
      return request.answer.reply([try await read(method.name, request.arguments)])
    }
    let credentials = await bus.credentials(of: request.sender)
    let subject = ChangeSubject(
      credentials: credentials, busName: readers == nil ? request.sender.description : nil,
      isOnUserBus: readers != nil)
    func record(_ outcome: LogValue) {
      log.info(
        "a change was asked for",
        [
          "request": "\(method.name) \(request.path.description)", "outcome": outcome,
          "uid": LogValue(credentials.map { "\($0.user)" } ?? "-"),
          "pid": LogValue(credentials.map { "\($0.process)" } ?? "-"),
          "bus": LogValue(request.sender.description),
        ])
    }
    guard await control.authority.allows(action, subject, mayAsk: request.mayAsk) else {
      record("not-permitted")
      throw BusRefusal.access
    }
    do {
      try await perform(method.name, of: identifier, request, credentials)
      record("done")
    } catch {
      record(LogValue((error as? Problem)?.type ?? "\(error)"))
      throw error
    }
  }

  /// The interface of an object by its path, and the identifier in it.
  private func owner(of path: BusPath) throws -> (BusInterfaceDescription?, String) {
    if path == BusObject.root { return (BusContract.agent, "") }
    if let text = path.identifier(below: BusObject.downloads) { return (BusContract.download, text) }
    if let text = path.identifier(below: BusObject.library) { return (BusContract.libraryItem, text) }
    if let text = path.identifier(below: BusObject.transactions) { return (BusContract.transaction, text) }
    throw BusRefusal.object(path)
  }

  private func perform(
    _ method: String, of identifier: String, _ request: BusRequest, _ credentials: PeerCredentials?
  ) async throws {
    let arguments = request.arguments
    switch method {
    case "Buy":
      let transaction = try await control.buy(try purchase(arguments), by: credentials?.user)
      guard let path = BusObject(transaction)?.path else {
        throw BusRefusal.arguments("the name is too long")
      }
      request.answer.reply([.path(path)])
    case "Restore":
      let started = try await control.restore(try restoration(arguments), by: credentials?.user)
      request.answer.reply([.strings(started.map(\.description))])
    case "Inhibit":
      let cookie = try inhibit(for: request.sender)
      log.info(
        "a presentation is not to be disturbed",
        ["application": LogValue(arguments[0].text ?? ""), "reason": LogValue(arguments[1].text ?? "")])
      request.answer.reply([.uint32(cookie)])
      await keep(request.sender)
    case "Uninhibit":
      guard case .uint32(let cookie) = arguments[0], inhibitors[cookie] == request.sender else {
        throw BusRefusal.arguments("that is no cookie of this connection")
      }
      setInhibitor(nil, of: cookie)
      release(request.sender)
      request.answer.reply()
    case "Pause", "Resume", "Cancel":
      let event: DownloadMachine.Event =
        method == "Pause" ? .pauseRequested : method == "Resume" ? .resumeRequested : .cancelRequested
      _ = try await control.downloads.request(event, of: try download(identifier))
      request.answer.reply()
    case "SetUrgency":
      guard let urgency = arguments[0].text.flatMap(DownloadUrgency.init(rawValue:)) else {
        throw BusRefusal.arguments("an urgency is now, normal or background")
      }
      _ = try await control.downloads.change(
        AgentDownloadChange(urgency: urgency), of: try download(identifier), by: credentials?.user)
      request.answer.reply()
    case "Open":
      let product = try product(identifier)
      let items = try await control.noteOpened(product)
      let item = items.current(of: product)
      // What was taken back is shown to no one.
      let content = item?.withdrawn == true ? "" : item?.path ?? ""
      request.answer.reply([
        .string(try await readers?.path(content, of: product, to: request.sender, credentials) ?? content)
      ])
    default:
      _ = try await control.pin(try product(identifier), arguments[0].flag ?? false)
      request.answer.reply()
    }
  }

  private func download(_ text: String) throws(Problem) -> DownloadIdentifier {
    guard let identifier = DownloadIdentifier(text) else { throw Problem(.downloadUnknown) }
    return identifier
  }

  private func product(_ text: String) throws(Problem) -> ProductIdentifier {
    guard let product = ProductIdentifier(text) else {
      throw Problem(.requestMalformed, "that is no product's identifier")
    }
    return product
  }

  /// The options of a method. Throws for one that it does not know, since leaving it out could buy another thing than was meant.
  private func options(_ value: BusValue, only known: Set<String>) throws -> [String: BusValue] {
    let options = value.members ?? [:]
    if let unknown = options.keys.sorted().first(where: { !known.contains($0) }) {
      throw BusRefusal.arguments("there is no option \(unknown)")
    }
    return options
  }

  private func purchase(_ arguments: [BusValue]) throws -> AgentPurchaseRequest {
    let options = try options(arguments[1], only: ["quantity", "shown", "session", "ignore"])
    var purchase = AgentPurchaseRequest(product: try product(arguments[0].text ?? ""))
    purchase.quantity = options["quantity"]?.number
    if let text = options["shown"]?.text {
      guard let shown = ShownPrice(text) else { throw BusRefusal.arguments("shown is no price") }
      purchase.shown = shown
    }
    purchase.session = try session(options)
    purchase.ignore = try ignored(options)
    return purchase
  }

  private func restoration(_ arguments: [BusValue]) throws -> AgentRestoreRequest {
    let options = try options(arguments[1], only: ["order", "limit", "session", "ignore"])
    let products = try (arguments[0].elements ?? []).map { try product($0.text ?? "") }
    var wanted = AgentRestoreRequest(products: products.isEmpty ? nil : products)
    if let text = options["order"]?.text {
      guard let order = AgentRestoreRequest.Order(rawValue: text) else {
        throw BusRefusal.arguments("order is newest or smallest")
      }
      wanted.order = order
    }
    if let limit = options["limit"]?.number {
      guard limit >= 1 else { throw BusRefusal.arguments("limit is 1 or more") }
      wanted.limit = limit
    }
    wanted.session = try session(options)
    wanted.ignore = try ignored(options)
    return wanted
  }

  /// The names of `ignore`; which of them may be ignored is the control interface's to say.
  private func ignored(_ options: [String: BusValue]) throws -> [MachineConditionName]? {
    guard let value = options["ignore"] else { return nil }
    let names = value.elements?.map { $0.text.flatMap(MachineConditionName.init(rawValue:)) }
    guard let names, !names.contains(nil) else {
      throw BusRefusal.arguments("ignore has names of conditions")
    }
    return names.compactMap(\.self)
  }

  private func session(_ options: [String: BusValue]) throws -> SessionName? {
    guard let text = options["session"]?.text else { return nil }
    guard let session = SessionName(text) else { throw BusRefusal.arguments("session is no name of an app") }
    return session
  }
}

extension BusObject {
  init(path: BusPath, interface: BusInterface, properties: [String: BusValue]) {
    self.path = path
    self.interface = interface
    self.properties = properties
  }
}
