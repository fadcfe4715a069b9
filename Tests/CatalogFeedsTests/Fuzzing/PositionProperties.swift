import Foundation
import PullboxAPI

@testable import CatalogFeeds

/// The words of KOReader's devices about a place in a file: what is read is the same once it is written and read again, and Foundation's
/// reader alone reads the same.
enum PositionProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    guard let read = try? APIJSON.decode(CatalogFeedRoutes.Position.self, from: bytes) else { return nil }
    guard let written = try? APIJSON.encode(read) else { return "\(read) was read and cannot be written" }
    guard let again = try? APIJSON.decode(CatalogFeedRoutes.Position.self, from: written),
      (try? APIJSON.encode(again)) == written
    else { return "\(read) is read otherwise than it was written" }
    guard let theirs = try? JSONDecoder().decode(CatalogFeedRoutes.Position.self, from: Data(bytes)),
      (try? APIJSON.encode(theirs)) == written
    else { return "\(read) is read otherwise than by Foundation" }
    return nil
  }
}
