package import Commerce
package import CoreTypes
package import PullboxAPI

/// The item that a feed told last of a product, as the database keeps it.
package struct FeedItem: Hashable, Sendable {
  /// The product, of which a feed has one item.
  package var product: ProductIdentifier
  /// The event that was told last.
  package var kind: FeedEntry.Kind
  /// The version that was offered last; kept while it is not offered, so that what comes back is told from what was
  /// corrected.
  package var version: ContentVersion?
  /// Bytes of the offered package; nil while nothing is offered.
  package var length: ByteCount?
  /// The transaction that pays, or paid.
  package var transaction: TransactionIdentifier
  /// Its place in the feed; of one that was not told yet it is no matter.
  package var sequence: Int64
  /// When the device may fetch the release at the earliest; nil for at once.
  package var notBefore: Timestamp?
  /// The end of the subscription's period; nil for what is none.
  package var until: Timestamp?

  /// Creates an item. Without a sequence it is one that was not told yet.
  package init(
    product: ProductIdentifier, kind: FeedEntry.Kind, version: ContentVersion? = nil,
    length: ByteCount? = nil, transaction: TransactionIdentifier, sequence: Int64 = 0,
    notBefore: Timestamp? = nil, until: Timestamp? = nil
  ) {
    self.product = product
    self.kind = kind
    self.version = version
    self.length = length
    self.transaction = transaction
    self.sequence = sequence
    self.notBefore = notBefore
    self.until = until
  }
}

/// How a product stands for a device now.
package enum FeedStanding: Hashable, Sendable {
  /// Owned, and this version of that length is offered to the device.
  case available(ContentVersion, ByteCount, TransactionIdentifier, notBefore: Timestamp?)
  /// Owned, and nothing is offered of it.
  case missing(TransactionIdentifier)
  /// Refunded or withdrawn by the store.
  case revoked(TransactionIdentifier)
  /// A subscription, until that time; `endsSoon` where it is near and no renewal will come by itself.
  case running(TransactionIdentifier, until: Timestamp, endsSoon: Bool)
  /// A subscription whose period is over, as far as the ledger knows.
  case ended(TransactionIdentifier, at: Timestamp)
}

/// Compares what was told with how things stand, and says what is to be told. Pure: told again and again with the same, it
/// has nothing to say, so that what is written down with each answer is neither lost nor repeated.
/// docs/delivery.md ("Feeds") has the table of events.
package enum FeedPlan {
  /// A subscription that does not renew by itself is announced to end this long before.
  package static let notice: Duration = .seconds(7 * 86_400)

  /// The items that change, in the order of the products' names. What stands behind `acknowledged` was written down, and perhaps never
  /// arrived: the correction of an issue that the device has not heard of is the issue.
  ///
  /// - Parameters:
  ///   - told: what the feed told last of each product.
  ///   - standings: how each product stands now; a product that is missing changes nothing.
  ///   - granted: the transactions by which the device may have a product though the feed told nothing of that: it is told where they are
  ///     revoked.
  ///   - acknowledged: the sequence up to which the device has surely heard.
  package static func changes(
    told: [ProductIdentifier: FeedItem], standings: [ProductIdentifier: FeedStanding],
    granted: [ProductIdentifier: Set<TransactionIdentifier>], acknowledged: Int64 = .max
  ) -> [FeedItem] {
    standings.sorted { $0.key < $1.key }.compactMap { product, standing in
      change(
        of: product, told: told[product], to: standing, granted: granted[product] ?? [],
        acknowledged: acknowledged)
    }
  }

  /// The items that a feed tells, and the products that it forgets to make room for them.
  package struct Fitting: Hashable, Sendable {
    /// Items to write down, in the order of the products' names.
    package var told: [FeedItem] = []
    /// Products whose items are removed, by name.
    package var forgotten: [ProductIdentifier] = []

    /// Whether the plan has nothing to do.
    package var isEmpty: Bool { told.isEmpty && forgotten.isEmpty }
  }

  /// How many products a feed tells of: of more than that, those that came last. What is gone makes room before what is there.
  package struct Room: Sendable {
    /// Products that the feed tells of, at most.
    package let limit: Int
    /// When the product came; nil for what has no date, as a subscription has none, which is told before all that has one.
    package let date: @Sendable (ProductIdentifier) -> Timestamp?

    /// Bounds a feed. `date` is asked only where the bound is exceeded.
    package init(limit: Int, date: @escaping @Sendable (ProductIdentifier) -> Timestamp?) {
      self.limit = limit
      self.date = date
    }

    /// Asked again and again with what it answers written down, it comes to have nothing to say. Within the
    /// bound the changes are returned as they are. A product whose change is not kept is not told of; what is gone and was never
    /// told of takes what places are left, by the products' names, and makes no room for itself.
    package func fit(
      _ changes: [FeedItem], told: [ProductIdentifier: FeedItem],
      standings: [ProductIdentifier: FeedStanding]
    ) -> Fitting {
      func new(in changes: [FeedItem]) -> [ProductIdentifier] {
        changes.map(\.product).filter { told[$0] == nil }
      }
      guard told.count + new(in: changes).count > limit else { return Fitting(told: changes) }
      var left = limit - told.count - new(in: changes.filter { !isGone(standings[$0.product]) }).count
      let changes = changes.filter { change in
        guard told[change.product] == nil, isGone(standings[change.product]) else { return true }
        left -= 1
        return left >= 0
      }
      let new = new(in: changes)
      guard told.count + new.count > limit else { return Fitting(told: changes) }
      // What is gone goes once that is told.
      let changed = Set(changes.map(\.product))
      let candidates = (Array(told.keys) + new).map { product in
        (
          product: product, isGone: isGone(standings[product]) && !changed.contains(product),
          date: date(product)
        )
      }
      let ordered = candidates.sorted { left, right in
        if left.isGone != right.isGone { return right.isGone }
        if left.date != right.date {
          guard let date = left.date else { return true }
          return right.date.map { date > $0 } ?? false
        }
        return left.product < right.product
      }
      let kept = Set(ordered.prefix(limit).map(\.product))
      return Fitting(
        told: changes.filter { kept.contains($0.product) },
        forgotten: told.keys.filter { !kept.contains($0) }.sorted())
    }

    /// Nothing is told of it any more where nothing was told before.
    private func isGone(_ standing: FeedStanding?) -> Bool {
      switch standing {
      case nil, .missing, .revoked: true
      case .available, .running, .ended: false
      }
    }
  }

  /// The item that tells the step from what was told to how the product stands; nil where that is no news.
  private static func change(
    of product: ProductIdentifier, told: FeedItem?, to standing: FeedStanding,
    granted: Set<TransactionIdentifier>, acknowledged: Int64
  ) -> FeedItem? {
    func item(_ kind: FeedEntry.Kind, _ transaction: TransactionIdentifier) -> FeedItem {
      FeedItem(product: product, kind: kind, version: told?.version, transaction: transaction)
    }
    switch (standing, told?.kind) {
    case (.available(let version, let length, let transaction, let notBefore), let kind):
      let news: FeedEntry.Kind
      switch kind {
      case nil: news = .issueAvailable
      case _ where told?.version != version:
        let isHeardOf = kind != .issueAvailable || (told?.sequence ?? 0) <= acknowledged
        news = told?.version == nil || !isHeardOf ? .issueAvailable : .correctionAvailable
      case .revoked, .withdrawn: news = .reinstated
      default: return nil
      }
      var changed = item(news, transaction)
      (changed.version, changed.length, changed.notBefore) = (version, length, notBefore)
      return changed
    case (.missing, nil), (.missing, .withdrawn): return nil
    case (.revoked(let transaction), nil), (.revoked(let transaction), .revoked):
      let isNews = told?.transaction != transaction && granted.contains(transaction)
      return isNews ? item(.revoked, transaction) : nil
    case (.missing(let transaction), _): return item(.withdrawn, transaction)
    case (.revoked(let transaction), _): return item(.revoked, transaction)
    case (.running(let transaction, let until, let endsSoon), let kind):
      if endsSoon {
        guard kind != .subscriptionEnding || told?.until != until else { return nil }
        var changed = item(.subscriptionEnding, transaction)
        changed.until = until
        return changed
      }
      guard kind == .subscriptionEnded || kind == .subscriptionEnding || kind == .revoked else { return nil }
      var changed = item(.reinstated, transaction)
      changed.until = until
      return changed
    case (.ended(let transaction, let end), let kind):
      guard kind != .subscriptionEnded || told?.until != end else { return nil }
      var changed = item(.subscriptionEnded, transaction)
      changed.until = end
      return changed
    }
  }
}

/// Over how long the devices of a release are spread.
package struct ReleasePace: Hashable, Sendable {
  /// No release is spread over longer by its bandwidth.
  package static let longest: Duration = .seconds(86_400)

  /// Nil for as long as ``bandwidth`` takes.
  package var window: Duration?
  /// Bytes a second that a release may take; nil for no bound.
  package var bandwidth: ByteCount?

  /// Spreads a release over `window`; without it, over as long as `bandwidth`, in bytes a second, takes; without both, not at all.
  package init(window: Duration? = nil, bandwidth: ByteCount? = nil) {
    self.window = window
    self.bandwidth = bandwidth
  }

  /// Whether it asks how many devices there are.
  package var dependsOnDevices: Bool { window == nil && bandwidth != nil }

  /// Returns the time over which a release is spread. Where the bandwidth decides, it is the time that so many devices take,
  /// if each of them fetches the whole length.
  package func window(for length: ByteCount, to devices: Int) -> Duration {
    if let window { return window }
    guard let bandwidth, bandwidth > .zero else { return .zero }
    let seconds = Double(length.rawValue) * Double(devices) / Double(bandwidth.rawValue)
    return min(.milliseconds(Int64(clamping: seconds * 1000)), Self.longest)
  }
}

/// When a device may fetch a release: each has a slot of its own within the release's window, by the hash that also says
/// whether a partial release reaches it. Pure, and the same on every node.
package enum ReleaseWindow {
  /// Nil where there is no window, or the slot has passed. The slot is the release's date and the part of
  /// `window` that the device's place out of ``RolloutPercentage/places`` is.
  package static func slot(
    of device: DeviceIdentifier, for product: ProductIdentifier, released: Timestamp?, window: Duration,
    now: Timestamp
  ) -> Timestamp? {
    guard window > .zero, let released else { return nil }
    let place = RolloutPercentage.place(of: device, for: product)
    let slot = released + window * (Double(place) / Double(RolloutPercentage.places))
    return slot > now ? slot : nil
  }
}
