internal import CoreTypes
internal import MessageBus
internal import ServiceRuntime

/// The agent on one bus, as the desktop needs it: a few properties of each object, kept up with its signals.
actor AgentFollower {
  static let agent: BusName = "com.pullbox.Agent1"
  static let root: BusPath = "/com/pullbox/Agent1"
  static let agentInterface: BusInterface = "com.pullbox.Agent1"
  private static let prefix = "com.pullbox.Agent1."

  /// A piece of news for the session.
  enum News: Sendable {
    case plan(NotificationPlan.Event)
    case progress(AgentObject, (verified: UInt64, total: UInt64)?)
    /// The product's content is there no more.
    case hidden(product: String)
    case gone(AgentPlace)
  }

  /// The part of a product of the library that is kept.
  struct Item: Sendable {
    var path: BusPath
    var title: String
    var cover: String?
    var lastOpened: Int
  }

  /// Questions about prices go to the store: there is no other for so long.
  static let pricePause: Duration = .seconds(60)
  /// A store may set a price of which the agent has no news: it is asked again after so long.
  static let priceInterval: Duration = .seconds(24 * 3600)
  /// The pauses between tries to read what there is, while the agent is there and does not answer.
  private static let pauses: [Duration] = [.seconds(1), .seconds(4), .seconds(15), .seconds(60)]

  nonisolated let bus: BusConnection
  nonisolated let place: AgentPlace
  private let clock: any MonotonicClock
  private let now: @Sendable () -> Double
  private let log: Log
  /// Given when there may be news of prices.
  private nonisolated let pricesChanged = AsyncSignal()
  private(set) var items: [String: Item] = [:] { didSet { revision += 1 } }
  /// Grows with each change of ``items``.
  private(set) var revision = 0
  private var downloads: [BusPath: [String: BusValue]] = [:]
  private var transactions: [BusPath: [String: BusValue]] = [:]
  private(set) var isThere = false
  private(set) var isInhibited = false

  /// The properties that are kept of downloads and transactions.
  private static let kept: Set<String> = [
    "Id", "Product", "Title", "State", "Reason", "Step", "BytesVerified", "BytesTotal", "Section",
    "ConditionDevice",
  ]
  private static let bound = 1024
  /// The states and steps of what is over, unless something begins it again.
  private static let finalWords: Set<String> = ["finished", "failed", "cancelled"]

  init(
    _ place: AgentPlace, on bus: BusConnection, clock: any MonotonicClock,
    log: Log, now: @escaping @Sendable () -> Double
  ) {
    self.place = place
    self.log = log
    self.bus = bus
    self.clock = clock
    self.now = now
  }

  /// Follows the agent for as long as the connection lives. It is not started for that.
  func follow(_ take: @escaping @Sendable ([News]) async -> Void) async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.askPrices(take) }
      await followAgent(take)
      group.cancelAll()
    }
  }

  private func followAgent(_ take: @Sendable ([News]) async -> Void) async {
    for await news in bus.subscribe(BusMatch(sender: Self.agent, .signals(below: Self.root))) {
      switch news {
      case .appeared, .missed:
        isThere = true
        await take(await loadInTheEnd())
      case .vanished:
        guard isThere else { continue }
        (isThere, isInhibited, items, downloads, transactions) = (false, false, [:], [:], [:])
        await take([.gone(place)])
      case .signal(let signal):
        await take(await process(signal))
      case .refused: return
      }
    }
  }

  /// Without an answer the agent tells this program nothing: it is asked a few times, and the log has why. An agent that has gone by then is
  /// told of behind that.
  private func loadInTheEnd() async -> [News] {
    for pause in Self.pauses {
      do throws(BusError) {
        return try await load()
      } catch {
        log.debug("the agent on the bus is asked again", ["bus": "\(place)", "error": LogValue(error)])
      }
      do { try await clock.sleep(for: pause) } catch { return [] }
    }
    do throws(BusError) {
      return try await load()
    } catch {
      log.warning("the agent on the bus tells nothing", ["bus": "\(place)", "error": LogValue(error)])
      return []
    }
  }

  /// Throws ``BusError`` where the agent does not answer, or not as its interface says.
  private func load() async throws(BusError) -> [News] {
    var call = BusMethodCall(
      "GetManagedObjects", of: .objectManager, at: Self.root, destination: Self.agent)
    call.startsService = false
    let answer: [BusValue]
    do throws(BusError) {
      answer = try await bus.call(call)
    } catch {
      guard error.isServiceMissing else { throw error }
      return []
    }
    guard case .dictionary(_, _, let entries)? = answer.first else {
      throw BusError(.malformed, "the agent's objects are none")
    }
    (items, downloads, transactions) = ([:], [:], [:])
    var news: [News] = []
    for entry in entries {
      guard let path = entry.key.objectPath else { continue }
      news += add(path, entry.value)
    }
    if let inhibited = try? await bus.property(
      "Inhibited", of: Self.agentInterface, at: Self.root, destination: Self.agent, startingService: false)
    {
      isInhibited = inhibited.flag ?? false
      news.append(.plan(.inhibited(isInhibited, by: .presentation(place))))
    }
    pricesChanged.signal()
    return news
  }

  /// Asks about prices once for all that has changed since the last question, and once a day, beside the agent's news: a store may take
  /// its time.
  private func askPrices(_ take: @Sendable ([News]) async -> Void) async {
    while !Task.isCancelled {
      await pricesChanged.wait(atMost: Self.priceInterval, clock: clock)
      guard !Task.isCancelled else { return }
      guard isThere else { continue }
      if let prices = await newPrices() {
        await take([.plan(.newPrices(prices, at: place))])
      } else if isThere {
        // A store that cannot be reached is asked again.
        pricesChanged.signal()
      }
      guard (try? await clock.sleep(for: Self.pricePause)) != nil else { return }
    }
  }

  /// The prices that subscriptions are to have, and that were not agreed to; nil without an answer.
  private func newPrices() async -> [NotificationPlan.NewPrice]? {
    var call = BusMethodCall("Subscriptions", of: Self.agentInterface, at: Self.root, destination: Self.agent)
    call.startsService = false
    let answer: [BusValue]
    do throws(BusError) {
      answer = try await bus.call(call)
    } catch {
      log.debug("the agent tells no prices", ["bus": "\(place)", "error": LogValue(error)])
      return nil
    }
    guard let values = answer.first?.elements else { return nil }
    return values.compactMap { value in
      guard let product = value["product"]?.text, let price = value["newPrice"]?.text,
        value["accepted"]?.flag != true
      else { return nil }
      return NotificationPlan.NewPrice(
        product: product, title: title(of: product), price: price,
        needsConsent: value["needsConsent"]?.flag ?? false)
    }
  }

  func title(of product: String) -> String { items[product]?.title ?? product }

  private func process(_ signal: BusSignal) async -> [News] {
    let arguments = signal.arguments
    switch signal.member {
    case "PropertiesChanged":
      guard arguments.count == 3, let changed = arguments[1].members else { return [] }
      if signal.path == Self.root {
        guard let inhibited = changed["Inhibited"]?.flag else { return [] }
        isInhibited = inhibited
        return [.plan(.inhibited(inhibited, by: .presentation(place)))]
      }
      return change(signal.path, arguments[0].text ?? "", changed)
    case "InterfacesAdded":
      guard arguments.count == 2, let path = arguments[0].objectPath else { return [] }
      return add(path, arguments[1])
    case "InterfacesRemoved":
      guard let path = arguments.first?.objectPath else { return [] }
      return remove(path)
    case "IssueReady", "CorrectionReady":
      guard arguments.count == 2, let product = arguments[1].text else { return [] }
      let item = items[product]
      let event: NotificationPlan.Event =
        signal.member == "IssueReady"
        ? .issueReady(product: product, title: title(of: product), cover: item?.cover)
        : .correctionReady(product: product, title: title(of: product), cover: item?.cover)
      return [.plan(event)]
    case "OwnershipChanged":
      guard arguments.count == 3, let product = arguments[0].text else { return [] }
      let kind = arguments[1].text
      guard kind == "subscription-ending" || kind == "subscription-ended" else {
        pricesChanged.signal()
        return []
      }
      let event = NotificationPlan.Event.subscription(
        product: product, title: title(of: product), hasEnded: kind == "subscription-ended")
      return [.plan(event)]
    default: return []
    }
  }

  private func add(_ path: BusPath, _ interfaces: BusValue) -> [News] {
    var news: [News] = []
    for (name, properties) in interfaces.members ?? [:] {
      news += change(path, name, properties.members ?? [:])
    }
    return news
  }

  private func change(_ path: BusPath, _ interface: String, _ changed: [String: BusValue]) -> [News] {
    switch interface {
    case Self.prefix + "Download":
      guard Self.hasRoom(for: path, changed, in: &downloads) else { return [] }
      let all = (downloads[path] ?? [:]).merging(changed.filter { Self.kept.contains($0.key) }) { $1 }
      downloads[path] = all
      return download(all)
    case Self.prefix + "Transaction":
      guard Self.hasRoom(for: path, changed, in: &transactions) else { return [] }
      let all = (transactions[path] ?? [:]).merging(changed.filter { Self.kept.contains($0.key) }) { $1 }
      let step = all["Step"]?.text ?? ""
      transactions[path] = all
      guard let id = all["Id"]?.text else { return [] }
      return [
        .plan(
          .transaction(
            AgentObject(id, at: place), title: Self.title(all), reason: all["Reason"]?.text ?? "", step: step)
        )
      ]
    case Self.prefix + "LibraryItem": return item(path, changed)
    default: return []
    }
  }

  /// Whether an object may be kept: one that is known, or whose change names it. What is over makes room.
  private static func hasRoom(
    for path: BusPath, _ changed: [String: BusValue], in objects: inout [BusPath: [String: BusValue]]
  ) -> Bool {
    if objects[path] != nil { return true }
    guard changed["Id"] != nil else { return false }
    if objects.count >= bound {
      objects = objects.filter { !finalWords.contains(($0.value["State"] ?? $0.value["Step"])?.text ?? "") }
    }
    return objects.count < bound
  }

  private static func title(_ properties: [String: BusValue]) -> String {
    let title = properties["Title"]?.text ?? ""
    return title.isEmpty ? properties["Product"]?.text ?? "" : title
  }

  private func download(_ all: [String: BusValue]) -> [News] {
    guard let id = all["Id"]?.text, let product = all["Product"]?.text, let state = all["State"]?.text else {
      return []
    }
    let name = AgentObject(id, at: place)
    let facts = NotificationPlan.DownloadFacts(
      name, product: product, title: Self.title(all), state: state, reason: all["Reason"]?.text ?? "",
      isSection: all["Section"]?.text?.isEmpty == false,
      device: all["ConditionDevice"]?.text.flatMap { $0.isEmpty ? nil : $0 })
    let bytes = (
      verified: UInt64(clamping: all["BytesVerified"]?.number ?? 0),
      total: UInt64(clamping: all["BytesTotal"]?.number ?? 0)
    )
    return [.plan(.download(facts, now: now())), .progress(name, state == "active" ? bytes : nil)]
  }

  private func item(_ path: BusPath, _ changed: [String: BusValue]) -> [News] {
    guard let product = path.identifier(below: "/com/pullbox/Agent1/library"),
      items[product] != nil || items.count < Self.bound
    else { return [] }
    var item = items[product] ?? Item(path: path, title: product, cover: nil, lastOpened: 0)
    for name in ["Title", "ProductTitle"] {
      if let text = changed[name]?.text, !text.isEmpty { item.title = text }
    }
    if let cover = changed["Cover"]?.text { item.cover = cover.isEmpty ? nil : cover }
    var news: [News] = []
    if let opened = changed["LastOpened"]?.number {
      if items[product] != nil, opened > item.lastOpened { news.append(.plan(.opened(product: product))) }
      item.lastOpened = opened
    }
    if changed["Withdrawn"]?.flag == true {
      news += [.plan(.removed(product: product)), .hidden(product: product)]
    }
    items[product] = item
    return news
  }

  private func remove(_ path: BusPath) -> [News] {
    if let product = path.identifier(below: "/com/pullbox/Agent1/library") {
      items[product] = nil
      return [.plan(.removed(product: product)), .hidden(product: product)]
    }
    transactions[path] = nil
    guard let gone = downloads.removeValue(forKey: path), let id = gone["Id"]?.text else { return [] }
    return [.progress(AgentObject(id, at: place), nil)]
  }

  // MARK: asking

  /// Calls a method of the agent, for which its user may be asked for a password unless said otherwise.
  nonisolated func call(
    _ member: String, _ interface: BusInterface, _ path: BusPath, _ arguments: [BusValue] = [],
    at destination: BusName = AgentFollower.agent, mayAsk: Bool = true
  ) async throws(BusError) -> [BusValue] {
    var call = BusMethodCall(
      member, of: interface, at: path, destination: destination, arguments: arguments)
    call.mayAsk = mayAsk
    return try await bus.call(call, timeout: .seconds(600))
  }
}
