/// Decides which notices stand on the desktop: one for each subject, replaced and not stacked, more than three new issues as one, none while a
/// presentation is not to be disturbed, and none that no longer holds. Pure: an edge sends what it answers.
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
    /// A download is so now; `now` is a time of one clock, in seconds.
    case download(DownloadFacts, now: Double)
    /// A purchase is so now.
    case transaction(AgentObject, title: String, reason: String, step: String)
    /// A subscription ends or has ended.
    case subscription(product: String, title: String, hasEnded: Bool)
    /// A subscription is to have another price.
    case newPrice(product: String, title: String, price: String, needsConsent: Bool)
    /// A presentation begins or ends, by the word of an agent.
    case inhibited(Bool, by: AgentPlace)
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

    /// Facts from their parts.
    public init(
      _ name: AgentObject, product: String, title: String, state: String, reason: String,
      isSection: Bool = false
    ) {
      self.name = name
      self.product = product
      self.title = title
      self.state = state
      self.reason = reason
      self.isSection = isSection
    }
  }

  /// A change of what stands on the desktop.
  public enum Change: Hashable, Sendable {
    /// The notice is shown, in place of the one of its subject.
    case show(Notice)
    /// The notice of the subject is closed.
    case close(Notice.Subject)
  }

  /// More issues than this are one notice.
  static let maximumSingle = 3
  /// A download that takes less, in seconds, is not told of when it is here.
  static let leastDuration = 60.0
  /// Notices and downloads that are remembered at most.
  static let bound = 256

  private let words: NoticeWords
  /// The agents by whose word a presentation is not to be disturbed.
  private var inhibitors: Set<AgentPlace> = []
  /// The notices that hold, by subject; shown unless a presentation holds them back.
  private var notices: [Notice.Subject: Notice] = [:]
  /// The products that came and were not looked at, in the order in which they came.
  private var arrived: [String] = []
  private var titles: [String: String] = [:]
  /// The subjects that stand on the desktop.
  private var shown: [Notice.Subject: Notice] = [:]
  /// Those that stood there when the desktop's notifications ended, and are shown again with them: nothing else starts them.
  private var lost: Set<Notice.Subject> = []
  /// When downloads were first seen under way.
  private var begun: [AgentObject: Double] = [:]
  /// The reason for which each download waits, so that a notice that was closed does not come back with each change.
  private var waiting: [AgentObject: String] = [:]
  /// The purchases that wait for an approval.
  private var awaiting: Set<AgentObject> = []

  /// A plan without notices.
  public init(words: NoticeWords) { self.words = words }

  /// Takes in what has happened. Returns what changes on the desktop, closings first.
  public mutating func handle(_ event: Event) -> [Change] {
    switch event {
    case .issueReady(let product, let title, let cover): arrive(product, title, cover, words.issueReady)
    case .correctionReady(let product, let title, let cover):
      arrive(product, title, cover, words.correctionReady)
    case .removed(let product), .opened(let product): forget(product)
    case .download(let download, let now): process(download, at: now)
    case .transaction(let name, let title, let reason, let step): process(name, title, reason, step)
    case .subscription(let product, let title, let hasEnded):
      put(
        Notice(
          .subscription(product), Notice.text(title),
          hasEnded ? words.subscriptionEnded : words.subscriptionEnds))
    case .newPrice(let product, let title, let price, let needsConsent):
      put(
        Notice(
          .subscription(product), Notice.text(title),
          words.newPrice(Notice.quoted(price), consent: needsConsent), isQuestion: needsConsent))
    case .inhibited(true, let place): inhibitors.insert(place)
    case .inhibited(false, let place): inhibitors.remove(place)
    case .closed(let subject): close(subject)
    // Another one may stand in its place by now.
    case .refused(let notice): if wanted[notice.subject] == notice { close(notice.subject) }
    case .unshown(let subject):
      shown[subject] = nil
      lost.insert(subject)
    case .desktopGone: (shown, lost) = ([:], lost.union(shown.keys))
    case .desktopThere: lost = []
    case .asked(let notice): put(notice)
    case .agentGone(let place): forget(place)
    }
    return changes()
  }

  /// The difference between what holds and what stands there.
  private mutating func changes() -> [Change] {
    let wanted = wanted
    lost.formIntersection(wanted.keys)
    guard inhibitors.isEmpty else {
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
    guard arrived.count > Self.maximumSingle else { return notices }
    var wanted = notices
    for product in arrived { wanted[.product(product)] = nil }
    let names = arrived.compactMap { titles[$0] }
    let listed = names.suffix(Self.maximumSingle).reversed().map { Notice.quoted($0) }
    wanted[.products] = Notice(
      .products, words.manyReady(arrived.count), listed.joined(separator: ", ") + ", …",
      actions: [.later])
    return wanted
  }

  private mutating func put(_ notice: Notice) {
    guard notices[notice.subject] != nil || notices.count < Self.bound else { return }
    notices[notice.subject] = notice
    lost.remove(notice.subject)
  }

  private mutating func arrive(_ product: String, _ title: String, _ cover: String?, _ words: String) {
    guard arrived.count < Self.bound || arrived.contains(product) else { return }
    if !arrived.contains(product) { arrived.append(product) }
    titles[product] = title
    put(
      Notice(
        .product(product), Notice.text(title), words, cover: cover,
        actions: [.read(product: product), .later]))
  }

  private mutating func forget(_ product: String) {
    arrived.removeAll { $0 == product }
    titles[product] = nil
    notices[.product(product)] = nil
  }

  /// A presentation, too, was that agent's to end.
  private mutating func forget(_ place: AgentPlace) {
    notices = notices.filter { if case .download(let name) = $0.key { name.place != place } else { true } }
    begun = begun.filter { $0.key.place != place }
    waiting = waiting.filter { $0.key.place != place }
    inhibitors.remove(place)
  }

  private mutating func close(_ subject: Notice.Subject) {
    // It stands there no more; a closing of it would be one of another notice.
    shown[subject] = nil
    lost.remove(subject)
    if subject == .products {
      for product in arrived { notices[.product(product)] = nil }
      arrived = []
      titles = [:]
    } else if case .product(let product) = subject {
      forget(product)
    } else {
      notices[subject] = nil
    }
  }

  private mutating func process(_ download: DownloadFacts, at now: Double) {
    guard !download.isSection else { return }
    let subject = Notice.Subject.download(download.name)
    if download.state == "active", begun[download.name] == nil, begun.count < Self.bound {
      begun[download.name] = now
    }
    guard download.state == "waiting", let (body, action) = wait(download) else {
      notices[subject] = nil
      waiting[download.name] = nil
      if download.state == "finished" || download.state == "cancelled" || download.state == "failed" {
        let duration = begun.removeValue(forKey: download.name).map { now - $0 } ?? 0
        if download.state == "finished", duration >= Self.leastDuration, !arrived.contains(download.product) {
          arrive(download.product, download.title, nil, words.downloaded)
        }
      }
      return
    }
    // A person who has closed it is not told again while it waits for the same.
    let notice = Notice(subject, Notice.text(download.title), body, actions: [action, .later])
    guard waiting[download.name] != download.reason, waiting.count < Self.bound else { return }
    waiting[download.name] = download.reason
    put(notice)
  }

  /// The words for what a person can change, and how; nil where only time or the network helps.
  private func wait(_ download: DownloadFacts) -> (String, Notice.Action)? {
    switch download.reason {
    case "insufficient-space": (words.waitsForRoom, .makeRoom)
    case "outside-window", "budget-spent", "metered":
      (words.waitsForLimits, .downloadAnyway(download.name))
    case "battery-low", "on-battery", "power-saver":
      (words.waitsForPower, .downloadAnyway(download.name))
    default: nil
    }
  }

  private mutating func process(_ name: AgentObject, _ title: String, _ reason: String, _ step: String) {
    let subject = Notice.Subject.transaction(name)
    let title = Notice.text(title)
    switch (reason, step) {
    case ("awaiting-approval", _):
      guard awaiting.count < Self.bound, awaiting.insert(name).inserted else { return }
      put(Notice(subject, title, words.awaitsApproval))
    case ("payment-failed", _):
      awaiting.remove(name)
      put(Notice(subject, title, words.paymentDeclined))
    default:
      guard awaiting.remove(name) != nil else { return }
      notices[subject] = nil
      if step != "failed" { put(Notice(subject, title, words.approved)) }
    }
  }
}
