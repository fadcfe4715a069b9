import HTTPServer

/// The kinds of requests that are admitted by limits of their own, by what they cost. Content has limits of its own
/// (``RateLimits``), and the two questions about health none: both are of no class.
package enum AdmissionClass: String, CaseIterable, Hashable, Sendable {
  /// A question that the payment store may have to answer: entitlements, grants and readers' keys. The dearest.
  case store
  /// Tickets, and the state of a grant.
  case ticket
  /// Questions to a device's feed, which may wait for minutes and cost little meanwhile, and for its license.
  case feed
  /// Reports of what was placed.
  case completion
  /// Requests about the products for sale.
  case catalog
  /// Requests for operators, metrics among them.
  case `operator`
  /// Uploads of packages, whose bodies take long to arrive.
  case upload

  /// The class of a route as it was declared; nil for content and health.
  ///
  /// A public route that is not named here counts as catalog.
  package init?(of declaration: ScopedRoutes.Declaration) {
    let pattern = declaration.pattern
    switch declaration.access {
    case .byRequest: self = .upload
    case .key: self = .operator
    case .open:
      switch pattern {
      case "/healthz", "/readyz": return nil
      case "/metrics": self = .operator
      case "/v1/entitlements", "/v1/grants": self = .store
      case _ where pattern.hasPrefix("/v1/readers"): self = .store
      case "/v1/feed", "/v1/license": self = .feed
      case _ where pattern.hasPrefix(ContentPath.prefix): return nil
      case _ where pattern.hasSuffix("/completion") || pattern.hasSuffix("/failure"): self = .completion
      case _ where pattern.hasPrefix("/v1/grants/"): self = .ticket
      default: self = .catalog
      }
    }
  }

  /// Whether its requests count for the bound on requests in progress of the whole process. An operator who looks
  /// what is wrong must not be turned away by those who cause it, and those that wait must turn away no others.
  var countsForAll: Bool {
    switch self {
    case .store, .ticket, .completion, .catalog: true
    case .operator, .upload, .feed: false
    }
  }
}

extension AdmissionClass {
  /// The classes in the order of their turns: requests that end a delivery go before requests that go on with one, and
  /// requests that begin one come last. So a server that has too much to do finishes what it has begun.
  static let byPrecedence: [AdmissionClass] = [
    .operator, .completion, .ticket, .feed, .upload, .catalog, .store,
  ]

  /// Whether its requests wait for a place. Those of feeds and uploads have theirs for minutes: it is not soon that one is free.
  var canWait: Bool {
    switch self {
    case .store, .ticket, .completion, .catalog, .operator: true
    case .upload, .feed: false
    }
  }
}

/// The prefix of the paths of content.
enum ContentPath {
  static let prefix = "/v1/content/"
}

extension ScopedRoutes.Declaration {
  /// Whether it is for operators and monitoring: such a route is on the address of its own, where there is one, and
  /// never open to other sites' pages.
  package var isManagement: Bool { access != .open || pattern == "/metrics" }

  /// Whether it is about the server's health: such a route is on every address.
  package var isHealth: Bool { pattern == "/healthz" || pattern == "/readyz" }
}
