import Commerce
import CoreTypes
import Database
import DeliveryRecords
import PullboxAPI
import ServiceRuntime

extension Problem {
  /// Products that are looked at for one that was meant, at most.
  private static let maximumCandidates = 200
  /// Letters that a name which was meant may differ in.
  private static let maximumDistance = 2

  /// The refusal of a product that there is not. It names the nearest one of those whose names begin as the first half of this one.
  static func unknownProduct(
    _ id: ProductIdentifier, in connection: borrowing Connection
  ) throws -> Problem {
    let name = id.description
    let candidates = try ProductTable.names(
      beginningWith: String(name.prefix(max(1, name.count / 2))), limit: maximumCandidates, in: connection)
    let near = candidates.map { ($0, EditDistance.distance($0.description, name)) }
      .filter { $0.1 <= maximumDistance }.min { $0.1 < $1.1 }?.0
    return Problem(
      .productUnknown, "no product is named \(id)" + (near.map { "; did you mean \($0)?" } ?? ""))
  }
}
