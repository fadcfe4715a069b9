package import Commerce
import CoreTypes
package import Database
import DeliveryRecords
package import PullboxAPI
import ServiceAPI
import ServiceRuntime

/// The name that was meant by one that there is not. Candidates begin with the first half of the name, so that
/// an index finds them, and ``EditDistance`` chooses among them.
enum NearestName {
  /// Names that are compared with the one that was asked for, at most.
  static let maximumCandidates = 200
  /// Names of one request of which the nearest is looked for, at most.
  static let maximumAsked = 4

  /// The first half of a name, which the one that was meant begins with.
  static func beginning(of name: String) -> String { String(name.prefix(max(1, name.count / 2))) }

  /// The second half of a refusal's sentence: `; did you mean com.example.issue1?`; empty without a name near enough.
  static func hint<Candidate: CustomStringConvertible>(
    for name: String, among candidates: some Sequence<Candidate>
  ) -> String {
    hint(EditDistance.nearest(to: name, among: candidates.prefix(maximumCandidates)))
  }

  /// The same for one that was found; empty for nil.
  static func hint(_ nearest: (some CustomStringConvertible)?) -> String {
    nearest.map { "; did you mean \($0)?" } ?? ""
  }
}

/// The names of the catalog's products in order, which are searched by their beginning.
struct ProductNames: Sendable {
  private let names: [ProductIdentifier]

  /// Sorts the names of the whole catalog.
  init(_ catalog: CatalogSnapshot) { names = catalog.entriesInOrder.map(\.product.id) }

  /// The product nearest to `name` among those that begin as its first half and that `isShown` admits.
  func nearest(
    to name: String, where isShown: (ProductIdentifier) -> Bool
  ) -> ProductIdentifier? {
    let beginning = NearestName.beginning(of: name)
    var (low, high) = (0, names.count)
    while low < high {
      let middle = (low + high) / 2
      if names[middle].description < beginning { low = middle + 1 } else { high = middle }
    }
    let candidates = names[low...].prefix(NearestName.maximumCandidates)
      .prefix { $0.description.hasPrefix(beginning) }
    return EditDistance.near(to: name, among: candidates).first(where: isShown)
  }
}

extension Problem {
  /// The refusal of a product that there is not. It names the nearest one of those whose names begin as the
  /// first half of this one. It reads at most ``NearestName/maximumCandidates`` names. Throws
  /// ``DatabaseError``.
  package static func unknownProduct(
    _ id: ProductIdentifier, in connection: borrowing Connection
  ) throws -> Problem {
    let candidates = try ProductTable.names(
      beginningWith: NearestName.beginning(of: id.description), limit: NearestName.maximumCandidates,
      in: connection)
    return Problem(
      .productUnknown,
      "no product is named \(id)" + NearestName.hint(for: id.description, among: candidates))
  }

  /// The refusal of a publication that is not described. It names the nearest one of those that are.
  static func unknownPublication(
    _ id: ProductIdentifier, in connection: borrowing Connection
  ) throws -> Problem {
    let candidates = try PublicationTable.names(
      beginningWith: NearestName.beginning(of: id.description), limit: NearestName.maximumCandidates,
      in: connection)
    return Problem(
      .publicationUnknown,
      "no publication \(id) is described" + NearestName.hint(for: id.description, among: candidates))
  }

  /// The refusal of a price tier that there is not, with the nearest one.
  static func unknownPriceTier(
    _ name: PriceTierName, in connection: borrowing Connection
  ) throws -> Problem {
    let names = try PriceTierTable.all(in: connection).map(\.name)
    return Problem(
      .priceTierUnknown,
      "no price tier is named \(name)" + NearestName.hint(for: name.description, among: names))
  }
}
