/// Decides which notices stand on the desktop: one for each subject, replaced and not stacked, more than three of one kind as one, none while a
/// presentation is not to be disturbed or another user sits at the machine, and none that no longer holds. Pure: an edge sends what it answers.
public struct NotificationPlan: Sendable {
  /// Something that has happened.
  public enum Event: Hashable, Sendable {
    /// An issue came by itself.
    case issueReady(product: String, title: String, cover: String?)
    /// A correction came by itself.
    case correctionReady(product: String, title: String, cover: String?)
    /// A product is on this device no more.
    case removed(product: String)
    /// A product was opened, here or elsewhere.
    case opened(product: String)
    /// A person has chosen *Read* of the product's notice, which the desktop may take away for that.
    case reading(product: String)
    /// The product that a person wanted to read could not be opened: its notice still holds.
    case unread(product: String)
    /// A download is so now; `now` is a time of one clock, in seconds.
    case download(DownloadFacts, now: Double)
    /// A purchase is so now.
    case transaction(AgentObject, title: String, reason: String, step: String)
    /// A subscription ends or has ended.
    case subscription(product: String, title: String, hasEnded: Bool)
    /// All prices that subscriptions of that agent are to have, and that were not agreed to.
    case newPrices([NewPrice], at: AgentPlace)
    /// Notices are held back from now on, or not any more, for that reason.
    case inhibited(Bool, by: Inhibitor)
    /// A person, or the desktop, has closed the notice.
    case closed(Notice.Subject)
    /// The desktop has refused the notice.
    case refused(Notice)
    /// The notice could not be shown: it waits for the desktop's notifications to be there again, or for another one of its subject.
    case unshown(Notice.Subject)
    /// The desktop's notifications have ended, and with them all that stood there.
    case desktopGone
    /// The desktop's notifications are there.
    case desktopThere
    /// A question that a link asks.
    case asked(Notice)
    /// The agent is gone: what waited on it is not known any more.
    case agentGone(AgentPlace)
  }

  /// A reason to hold notices back.
  public enum Inhibitor: Hashable, Sendable {
    /// A presentation, by the word of that agent.
    case presentation(AgentPlace)
    /// Another session than this user's is at the seat.
    case seat
  }

  /// The price that a subscription is to have.
  public struct NewPrice: Hashable, Sendable {
    /// The subscription.
    public var product: String
    /// Its title.
    public var title: String
    /// The price in words.
    public var price: String
    /// Whether the subscription ends unless its owner agrees.
    public var needsConsent: Bool

    /// A price from its parts.
    public init(product: String, title: String, price: String, needsConsent: Bool) {
      self.product = product
      self.title = title
      self.price = price
      self.needsConsent = needsConsent
    }
  }

  /// The part of a download that counts here.
  public struct DownloadFacts: Hashable, Sendable {
    /// The download.
    public var name: AgentObject
    /// The product.
    public var product: String
    /// Its title, or the product where it has none.
    public var title: String
    /// The agent's words `state` and `reason`.
    public var state: String
    /// Why.
    public var reason: String
    /// Whether it brings a section to what is there.
    public var isSection: Bool
    /// The device that it waits for, such as that of the metered way; nil where none is told.
    public var device: String?

    /// Facts from their parts.
    public init(
      _ name: AgentObject, product: String, title: String, state: String, reason: String,
      isSection: Bool = false, device: String? = nil
    ) {
      self.name = name
      self.product = product
      self.title = title
      self.state = state
      self.reason = reason
      self.isSection = isSection
      self.device = device
    }
  }

  /// A change of what stands on the desktop.
  public enum Change: Hashable, Sendable {
    /// The notice is shown, in place of the one of its subject.
    case show(Notice)
    /// The notice of the subject is closed.
    case close(Notice.Subject)
  }

  /// A read that a person has chosen, and whose end is not known.
  enum Reading: Hashable, Sendable {
    case underWay
    /// It has failed before the desktop took the notice away.
    case failed
  }

  /// A price that a person was told, whatever the title of the subscription was.
  struct ToldPrice: Hashable, Sendable {
    var product: String
    var price: String
    var needsConsent: Bool

    init(_ price: NewPrice) {
      product = price.product
      self.price = price.price
      needsConsent = price.needsConsent
    }
  }

  /// More issues, or waits of one kind, than this are one notice.
  static let maximumSingle = 3
  /// A download that takes less, in seconds, is not told of when it is here.
  static let leastDuration = 60.0
  /// Notices and downloads that are remembered at most.
  static let bound = 256
  /// Prices that are remembered as told at most: twice as many as both agents can say at once.
  static let maximumToldPrices = 4 * bound

  let words: NoticeWords
  /// The reasons for which notices are held back.
  private var inhibitors: Set<Inhibitor> = []
  /// The notices that hold, by subject; shown unless they are held back.
  var notices: [Notice.Subject: Notice] = [:]
  /// The products that came and were not looked at, in the order in which they came.
  var arrived: [String] = []
  /// Those that were there before, and came corrected.
  private var corrected: Set<String> = []
  private var titles: [String: String] = [:]
  private var readings: [String: Reading] = [:]
  /// The subjects that stand on the desktop.
  private var shown: [Notice.Subject: Notice] = [:]
  /// Those that stood there when the desktop's notifications ended, and are shown again with them: nothing else starts them.
  private var lost: Set<Notice.Subject> = []
  /// When downloads were first seen under way.
  var begun: [AgentObject: Double] = [:]
  /// The reason for which each download waits, and its kind, so that a notice that was closed does not come back with each change.
  var waiting: [AgentObject: (reason: String, wait: Wait)] = [:]
  /// The purchases that wait for an approval.
  var awaiting: Set<AgentObject> = []
  /// The prices as each agent said them last, by subscription.
  var prices: [AgentPlace: [String: NewPrice]] = [:]
  /// The prices that were told, the latest last.
  var toldPrices: [ToldPrice] = []

  /// A plan without notices.
  public init(words: NoticeWords) { self.words = words }

  /// Takes in what has happened. Returns what changes on the desktop, closings first.
  public mutating func handle(_ event: Event) -> [Change] { handle([event]) }

  /// Takes in what has happened at once: what does not outlast it is not shown.
  public mutating func handle(_ events: [Event]) -> [Change] {
    for event in events { process(event) }
    return changes()
  }

  private mutating func process(_ event: Event) {
    switch event {
    case .issueReady(let product, let title, let cover): arrive(product, title, cover, words.issueReady)
    case .correctionReady(let product, let title, let cover):
      arrive(product, title, cover, words.correctionReady, isCorrection: true)
    case .removed(let product), .opened(let product): forget(product)
    case .reading(let product):
      if notices[.product(product)] != nil { readings[product] = .underWay }
    case .unread(let product): keep(product)
    case .download(let download, let now): process(download, at: now)
    case .transaction(let name, let title, let reason, let step):
      process(purchase: name, title: title, reason: reason, step: step)
    case .subscription(let product, let title, let hasEnded):
      put(
        Notice(
          .subscription(product), Notice.text(title),
          hasEnded ? words.subscriptionEnded : words.subscriptionEnds))
    case .newPrices(let prices, let place): process(prices, at: place)
    case .inhibited(true, let inhibitor): inhibitors.insert(inhibitor)
    case .inhibited(false, let inhibitor): inhibitors.remove(inhibitor)
    case .closed(let subject): close(subject)
    // Another one may stand in its place by now.
    case .refused(let notice): if wanted[notice.subject] == notice { remove(notice.subject) }
    case .unshown(let subject):
      shown[subject] = nil
      lost.insert(subject)
    // It takes no notice away any more for a read that was chosen.
    case .desktopGone: (shown, lost, readings) = ([:], lost.union(shown.keys), [:])
    case .desktopThere: lost = []
    case .asked(let notice): put(notice)
    case .agentGone(let place): forget(place)
    }
  }

  /// Whether new notices are held back.
  var isHeldBack: Bool { !inhibitors.isEmpty }

  /// The difference between what holds and what stands there.
  private mutating func changes() -> [Change] {
    let wanted = wanted
    lost.formIntersection(wanted.keys)
    guard !isHeldBack else {
      // What was there before stays until it no longer holds.
      let gone = shown.keys.filter { wanted[$0] == nil }
      for subject in gone { shown[subject] = nil }
      return gone.sorted().map { .close($0) }
    }
    let gone = shown.keys.filter { wanted[$0] == nil }.sorted()
    let new = wanted.filter { shown[$0.key] != $0.value && !lost.contains($0.key) }.sorted { $0.key < $1.key }
    shown = wanted.filter { !lost.contains($0.key) }
    return gone.map { .close($0) } + new.map { .show($0.value) }
  }

  private var wanted: [Notice.Subject: Notice] {
    var wanted = notices
    for (wait, names) in waitGroups {
      wanted[.downloads(wait)] = group(names, for: wait)
      for name in names { wanted[.download(name)] = nil }
    }
    guard arrived.count > Self.maximumSingle else { return wanted }
    for product in arrived { wanted[.product(product)] = nil }
    wanted[.products] = Notice(
      .products, words.manyReady(arrived.count, withCorrections: !corrected.isEmpty),
      Self.list(arrived.reversed().compactMap { titles[$0] }), actions: [.later])
    return wanted
  }

  /// The first of these titles, of which there are more.
  static func list(_ titles: [String]) -> String {
    titles.prefix(maximumSingle).map { Notice.quoted($0) }.joined(separator: ", ") + ", …"
  }

  mutating func put(_ notice: Notice) {
    guard notices[notice.subject] != nil || notices.count < Self.bound else { return }
    notices[notice.subject] = notice
    lost.remove(notice.subject)
  }

  mutating func arrive(
    _ product: String, _ title: String, _ cover: String?, _ words: String, isCorrection: Bool = false
  ) {
    guard arrived.count < Self.bound || arrived.contains(product) else { return }
    if !arrived.contains(product) { arrived.append(product) }
    if isCorrection { corrected.insert(product) } else { corrected.remove(product) }
    titles[product] = title
    put(
      Notice(
        .product(product), Notice.text(title), words, cover: cover,
        actions: [.read(product: product), .later]))
  }

  private mutating func forget(_ product: String) {
    arrived.removeAll { $0 == product }
    corrected.remove(product)
    titles[product] = nil
    readings[product] = nil
    notices[.product(product)] = nil
  }

  /// A presentation, too, was that agent's to end. A price that it told holds without it.
  private mutating func forget(_ place: AgentPlace) {
    notices = notices.filter { if case .download(let name) = $0.key { name.place != place } else { true } }
    begun = begun.filter { $0.key.place != place }
    waiting = waiting.filter { $0.key.place != place }
    inhibitors.remove(.presentation(place))
  }

  /// A person has closed it, or the desktop has, for a read that was chosen.
  private mutating func close(_ subject: Notice.Subject) {
    guard case .product(let product) = subject, let reading = readings[product] else {
      return remove(subject)
    }
    shown[subject] = nil
    switch reading {
    case .underWay: lost.insert(subject)
    case .failed: readings[product] = nil
    }
  }

  /// The product's notice is there, or comes back once the desktop has taken it away.
  private mutating func keep(_ product: String) {
    guard readings[product] != nil else { return }
    let subject = Notice.Subject.product(product)
    readings[product] = shown[subject] == nil ? nil : .failed
    lost.remove(subject)
  }

  private mutating func remove(_ subject: Notice.Subject) {
    // It stands there no more; a closing of it would be one of another notice.
    shown[subject] = nil
    lost.remove(subject)
    switch subject {
    case .products: for product in arrived { forget(product) }
    case .product(let product): forget(product)
    case .downloads(let wait):
      for name in waitGroups[wait] ?? [] { notices[.download(name)] = nil }
    default: notices[subject] = nil
    }
  }
}
