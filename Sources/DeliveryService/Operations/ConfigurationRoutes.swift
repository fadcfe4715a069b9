import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI
import ServiceRuntime
import Synchronization

/// The listing of the configuration that is in effect, which a reload changes.
final class CurrentListing: Sendable {
  private let listing: Mutex<ConfigurationListing>

  init(_ listing: ConfigurationListing) {
    self.listing = Mutex(listing)
  }

  /// The listing as it is now.
  var value: ConfigurationListing { listing.locked { $0 } }

  /// Takes in what a reload has read, but for the keys that need a restart.
  func reload(_ new: ConfigurationListing, besides waiting: [String]) {
    listing.locked { $0.reload(new, besides: waiting) }
  }
}

/// The configuration in effect, for operators, without its secrets.
struct ConfigurationRoutes: Sendable {
  let listing: CurrentListing

  /// Adds `GET /v1/operator/configuration`, which needs the scope `admin`.
  func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/configuration", requires: .admin) { _, _, _ in
      try .json(OperatorConfiguration(settings: listing.value.entries.map { Self.setting($0) }))
    }
  }

  private static func setting(_ entry: ConfigurationListing.Entry) -> OperatorConfiguration.Setting {
    var setting = OperatorConfiguration.Setting(
      key: entry.key, value: entry.value, isSecret: entry.isSecret || entry.holdsPassword,
      waitsForRestart: entry.waitsForRestart)
    switch entry.origin {
    case .fallback: setting.origin = .fallback
    case .file: setting.origin = .file
    case .variable: setting.origin = .environment
    case .option: setting.origin = .option
    case nil: break
    }
    if entry.origin != .fallback { setting.place = entry.origin?.description }
    return setting
  }
}
