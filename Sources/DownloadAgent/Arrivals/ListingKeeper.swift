import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceRuntime
import SystemCalls

/// Asks the server, beside the arrivals, what products are called that arrive by themselves, in the reader's language, and fetches
/// their covers. No arrival waits for it, or fails with it.
///
/// What is to be asked is saved with the arrivals; what fails is tried again at growing intervals, and what the server itself refuses
/// ``maximumTries`` times, counted anew by an agent that starts. Titles go before covers; what failed without an answer stands behind
/// the others at the next try.
actor ListingKeeper {
  /// Products that one question names at most.
  static let productsAtOnce = 20
  /// Refusals, answers that are no covers, and files that cannot be written, after which a product has to do with what is known of it.
  static let maximumTries = 8

  /// The library with the listings and the covers.
  let library: Library
  /// The client of the delivery server.
  let server: DeliveryClient
  /// The client of the store, which knows the account's territory.
  let store: StoreQueueClient
  /// The hub that hears of changed titles and covers.
  let hub: EventHub
  /// The reader's language, by its BCP 47 tag; nil for each product's first.
  let locale: String?
  /// The clock of pauses.
  let clock: any MonotonicClock
  /// The log of failures.
  let log: Log
  /// The pauses after turns that failed.
  let backoff: Backoff
  /// Something is to be asked, or to be forgotten.
  nonisolated let wakeUp = AsyncSignal()
  /// The failures of each product since its last success.
  private var tries: [ProductIdentifier: Int] = [:]
  /// Whether ``seek()`` has succeeded once.
  private var hasSought = false
  /// The last product of the question that was asked last; the next turn begins behind it.
  private var lastAsked: ProductIdentifier?
  /// The product whose cover was asked for last.
  private var lastCover: ProductIdentifier?

  /// The result of one turn through all due listings.
  private struct Turn {
    /// Where the server has the covers that are to be fetched.
    var covers: [ProductIdentifier: String] = [:]
    /// Products whose title or cover is another now, not told yet.
    var changed: Set<ProductIdentifier> = []
    /// The first.
    var failure: (any Error)?
  }

  /// A keeper that asks nothing before ``run()``.
  init(
    library: Library, server: DeliveryClient, store: StoreQueueClient, hub: EventHub, locale: String?,
    clock: any MonotonicClock, log: Log,
    backoff: Backoff
  ) {
    self.library = library
    self.server = server
    self.store = store
    self.hub = hub
    self.locale = locale
    self.clock = clock
    self.log = log
    self.backoff = backoff
  }

  /// Runs until the task is cancelled.
  func run() async {
    var failures = 0
    while !Task.isCancelled {
      do {
        try await seek()
        try await library.dropStrayListings()
        while try await askAll() {}
        // What was withdrawn meanwhile.
        try await library.dropStrayListings()
        failures = 0
        await wakeUp.wait(atMost: nil, clock: clock)
      } catch {
        if Task.isCancelled { return }
        failures += 1
        let failure = StepFailure(error)
        log.info(
          "titles and covers of what arrives cannot be read",
          [
            "reason": "\(failure.reason)",
            "cause": LogValue(failure.cause ?? failure.problem?.description ?? "-"),
          ])
        var delay = backoff.delay(afterFailures: failures)
        if case .retry(let told?) = failure.recovery { delay = max(delay, told) }
        await wakeUp.wait(atMost: delay, clock: clock)
      }
    }
  }

  /// Once, when the library is there for the first time: finds what was asked for in another language, and covers that are gone.
  private func seek() async throws {
    guard !hasSought else { return }
    try await BlockingPool.shared.run { [library, locale] in
      try library.database.expectListings(in: locale)
    }
    hasSought = try await library.expectMissingCovers()
  }

  /// False where nothing is to be asked. Throws the first failure of what is to be tried again, once all else is kept.
  private func askAll() async throws -> Bool {
    let due = try await BlockingPool.shared.run { [library] in try library.database.dueListings() }
    guard !due.isEmpty else { return false }
    var turn = Turn()
    do {
      try await keepTitles(of: due, &turn)
      try await keepPublications()
      try await keepCovers(&turn)
    } catch {
      try Task.checkCancellation()
      turn.failure = turn.failure ?? error
    }
    if let failure = turn.failure { throw failure }
    return true
  }

  /// Those behind `last`, then the others.
  private static func parts(
    of products: [ProductIdentifier], after last: ProductIdentifier?
  ) -> [[ProductIdentifier]] {
    guard let last else { return [products] }
    return [products.filter { $0 > last }, products.filter { $0 <= last }]
  }

  /// The covers of what was told go on where a question has no answer.
  private func keepTitles(of products: [ProductIdentifier], _ turn: inout Turn) async throws {
    // Split where they begin anew, so that what fails takes no others with it into another question.
    let questions = Self.parts(of: products, after: lastAsked).flatMap { part in
      stride(from: 0, to: part.count, by: Self.productsAtOnce).map {
        Array(part[$0...].prefix(Self.productsAtOnce))
      }
    }
    for question in questions {
      lastAsked = question.last
      let answered = try await ask(question, &turn)
      try await publishChanges(&turn)
      if !answered { return }
    }
  }

  /// Keeps what is answered; asks twice for half as many where that is too long. False where nothing answers that speaks for the
  /// server.
  private func ask(_ question: [ProductIdentifier], _ turn: inout Turn) async throws -> Bool {
    library.listings.noteQuestion(about: question)
    let told: [ProductIdentifier: ProductListing]
    do {
      told = try await listings(of: question)
    } catch {
      try Task.checkCancellation()
      let isTooLong = Self.isTooLong(error)
      if isTooLong, question.count > 1 {
        let half = question.count / 2
        guard try await ask(Array(question.prefix(half)), &turn) else { return false }
        return try await ask(Array(question.dropFirst(half)), &turn)
      }
      turn.failure = turn.failure ?? error
      if isTooLong || Self.isRefusal(error) {
        for product in question { try await countFailure(of: product) }
      }
      return Self.isAnswer(error)
    }
    for product in question {
      do {
        try await keepTitle(told[product], of: product, &turn)
      } catch {
        try Task.checkCancellation()
        turn.failure = turn.failure ?? error
      }
    }
    return true
  }

  /// The listings of those products that are for sale to the account.
  private func listings(
    of products: [ProductIdentifier]
  ) async throws -> [ProductIdentifier: ProductListing] {
    let listings = try await server.listings(of: products, for: try await store.account(), locale: locale)
    return Dictionary(listings.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Keeps the title; the product stays due where its cover has another address than the one that is kept, or has not
  /// come. A product that the server does not list keeps what is known of it.
  private func keepTitle(
    _ told: ProductListing?, of product: ProductIdentifier, _ turn: inout Turn
  ) async throws {
    let before = library.listings[product] ?? KeptListing()
    var listing = before
    listing.title = told.flatMap { KeptListing.title($0.title) } ?? before.title
    listing.locale = locale
    listing.publication = told.map(\.publication) ?? before.publication
    listing.published = told.map(\.publicationDate) ?? before.published
    let address = told?.coverURL.flatMap { $0 != before.coverURL || before.cover == nil ? $0 : nil }
    try await library.keep(listing, of: product, isDue: address != nil)
    turn.covers[product] = address
    if address == nil { tries[product] = nil }
    if listing.title != before.title { turn.changed.insert(product) }
  }

  /// Throws what would befall the others as well.
  private func keepCovers(_ turn: inout Turn) async throws {
    for product in Self.parts(of: turn.covers.keys.sorted(), after: lastCover).flatMap(\.self) {
      guard let address = turn.covers[product] else { continue }
      lastCover = product
      do {
        let before = library.listings[product]?.cover
        let hasPicture = try await keepCover(at: address, of: product)
        tries[product] = nil
        if hasPicture || before != nil { turn.changed.insert(product) }
      } catch {
        try Task.checkCancellation()
        let isOfOne = (error as? SystemError).map { !$0.isOutOfSpace } ?? Self.isAnswer(error)
        guard isOfOne else {
          try await publishChanges(&turn)
          throw error
        }
        turn.failure = turn.failure ?? error
        try await countFailure(of: product)
      }
    }
    try await publishChanges(&turn)
  }

  /// Whether there is one.
  private func keepCover(at address: String, of product: ProductIdentifier) async throws -> Bool {
    try await BlockingPool.shared.run { [library] in try library.requireRoomForCover() }
    let picture = try await server.cover(at: address).map { bytes in
      guard let picture = CoverPicture(bytes) else {
        throw StepFailure.retry(.protocolViolation, cause: "what is at \(address) is no picture")
      }
      return picture
    }
    try await library.keep(picture, at: address, of: product)
    return picture != nil
  }

  /// Tells observers of the library items of the changed products, once.
  private func publishChanges(_ turn: inout Turn) async throws {
    let changed = turn.changed
    turn.changed = []
    for item in try await changed.isEmpty ? [] : library.items() where changed.contains(item.product) {
      hub.publish(.library(LibraryEvent(change: .changed, item: item)))
    }
  }

  /// Counts a failure. At ``maximumTries`` the product is due no more.
  private func countFailure(of product: ProductIdentifier) async throws {
    tries[product, default: 0] += 1
    guard tries[product, default: 0] >= Self.maximumTries else { return }
    tries[product] = nil
    var listing = library.listings[product] ?? KeptListing()
    listing.locale = locale
    try await library.keep(listing, of: product, isDue: false)
  }
}
