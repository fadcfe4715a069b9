import Commerce
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
/// ``maximumTries`` times in all.
actor ListingKeeper {
  /// Products that one question names.
  static let productsAtOnce = 100
  /// Refusals, and answers that are no covers, after which a product has to do with what is known of it.
  static let maximumTries = 8

  let library: Library
  let server: DeliveryClient
  let store: StoreQueueClient
  let hub: EventHub
  /// The reader's language, by its BCP 47 tag; nil for each product's first.
  let locale: String?
  let clock: any MonotonicClock
  let log: Log
  let backoff: Backoff
  /// Something is to be asked, or to be forgotten.
  nonisolated let wakeUp = AsyncSignal()
  private var tries: [ProductIdentifier: Int] = [:]

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
        try await library.dropStrayListings()
        while try await askNext() {}
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

  /// False where nothing is to be asked. Throws the first failure of what is to be tried again, once all else is kept.
  private func askNext() async throws -> Bool {
    let due = try await BlockingPool.shared.run { [library] in
      try library.database.dueListings(limit: Self.productsAtOnce)
    }
    guard !due.isEmpty else { return false }
    let told = try await listings(of: due)
    var failure: (any Error)?
    var changed: Set<ProductIdentifier> = []
    for product in due {
      do {
        if try await keep(told[product], of: product) { changed.insert(product) }
        tries[product] = nil
      } catch {
        try Task.checkCancellation()
        failure = failure ?? error
        if Self.isAnswer(error) { try await countFailure(of: product) }
      }
    }
    for item in try await changed.isEmpty ? [] : library.items() where changed.contains(item.product) {
      hub.publish(.library(LibraryEvent(change: .changed, item: item)))
    }
    if let failure { throw failure }
    return true
  }

  /// What the server refuses here counts against all that were asked for.
  private func listings(
    of products: [ProductIdentifier]
  ) async throws -> [ProductIdentifier: ProductListing] {
    do {
      let account = try await store.account()
      let listings = try await server.listings(of: products, for: account, locale: locale)
      return Dictionary(listings.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    } catch {
      if case APICallError.problem = error as any Error, Self.isAnswer(error) {
        for product in products { try await countFailure(of: product) }
      }
      throw error
    }
  }

  /// Keeps the title first, since a cover may take long. Answers whether anything is otherwise than before.
  private func keep(_ told: ProductListing?, of product: ProductIdentifier) async throws -> Bool {
    let before = library.listings[product] ?? KeptListing()
    var listing = before
    listing.title = told.flatMap { KeptListing.title($0.title) } ?? before.title
    guard let address = told?.coverURL, address != before.coverURL || before.cover == nil else {
      try await library.keep(listing, of: product, isDue: false)
      return listing != before
    }
    try await library.keep(listing, of: product, isDue: true)
    let picture = try await server.cover(at: address).map { bytes in
      guard let picture = CoverPicture(bytes) else {
        throw StepFailure.retry(.protocolViolation, cause: "what is at \(address) is no picture")
      }
      return picture
    }
    listing.cover = try await library.writeCover(picture, of: product)
    listing.coverURL = address
    try await library.keep(listing, of: product, isDue: false)
    return listing != before
  }

  /// Whether the server, or what answers in its place, will say the same again: it was reached, and is not only busy.
  private static func isAnswer(_ error: any Error) -> Bool {
    switch error {
    case APICallError.problem(let problem): (400..<500).contains(problem.status) && problem.status != 429
    case APICallError.unexpectedResponse: true
    case APICallError.unreachable(let cause): cause.code == .tooLarge
    case let failure as StepFailure: failure.reason == .protocolViolation
    default: false
    }
  }

  private func countFailure(of product: ProductIdentifier) async throws {
    tries[product, default: 0] += 1
    guard tries[product, default: 0] >= Self.maximumTries else { return }
    tries[product] = nil
    try await library.keep(library.listings[product] ?? KeptListing(), of: product, isDue: false)
  }
}
