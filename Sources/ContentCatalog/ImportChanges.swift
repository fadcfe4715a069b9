import CoreTypes
import DeliveryRecords
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The states that an import was worked out from, of which conditions of requests are checked: one word for each item.
struct ImportBasis: Encodable, Sendable {
  var items: [String]

  /// The states of the items that the import names, as they are.
  init(_ prepared: PreparedImport) throws {
    var items: [String] = []
    for tier in prepared.tiers { items.append(try Self.word(tier.before)) }
    for publication in prepared.publications { items.append(try Self.word(publication.before)) }
    for index in 0..<prepared.productCount {
      let before = try prepared.product(index).before
      items.append("\(before?.sale.rawValue ?? "") \(try Self.word(before?.product))")
    }
    self.items = items
  }

  private static func word(_ item: (some Encodable)?) throws -> String {
    guard let item else { return "none" }
    return EntityTag.of(try APIJSON.encode(item))
  }
}

/// Collects what an import would change. It is used within one write alone.
final class ImportChanges {
  private(set) var changes: [CatalogImportChange] = []
  private(set) var hasMore = false

  /// Notes an item that would be made or changed; `sale` is its state of sale before and after.
  func note(
    _ kind: CatalogImportChange.Kind, _ id: String, before: (some Encodable)?, after: String,
    sale: (before: String?, after: String)? = nil
  ) throws {
    guard changes.count < CatalogImportPlan.maximumChanges else {
      hasMore = true
      return
    }
    var old = try before.map { try MemberTexts($0).texts } ?? [:]
    var new = try MemberTexts(document: Array(after.utf8)).texts
    if let sale {
      old["sale"] = sale.before
      new["sale"] = sale.after
    }
    let names = Set(old.keys).union(new.keys).sorted()
    changes.append(
      CatalogImportChange(
        kind: kind, id: id, isNew: before == nil,
        members: names.compactMap { name in
          old[name] == new[name] ? nil : .init(member: name, old: old[name], new: new[name])
        }))
  }
}

/// The values of a JSON document as texts, by their members with those around them: `prices.FRA.amount`.
struct MemberTexts {
  /// Dates that say when something was written are none of its description.
  private static let dates: Set<String> = ["created", "changed"]

  private(set) var texts: [String: String] = [:]

  init(_ value: some Encodable) throws { try self.init(document: APIJSON.encode(value)) }

  /// Throws `DecodingError` for what is no JSON.
  init(document: [UInt8]) throws {
    collect(try APIJSON.decode(Tree.self, from: document), at: "")
  }

  private mutating func collect(_ tree: Tree, at path: String) {
    func place(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
    switch tree {
    case .table(let members):
      for (name, value) in members where !(path.isEmpty && Self.dates.contains(name)) {
        collect(value, at: place(name))
      }
    case .list(let elements):
      for (index, value) in elements.enumerated() { collect(value, at: place("\(index)")) }
    case .text(let text): texts[path] = text
    case .null: break
    }
  }

  private enum Tree: Decodable {
    case table([String: Tree])
    case list([Tree])
    case text(String)
    case null

    init(from decoder: any Decoder) throws {
      if let members = try? [String: Tree](from: decoder) {
        self = .table(members)
      } else if let elements = try? [Tree](from: decoder) {
        self = .list(elements)
      } else {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
          self = .null
        } else if let value = try? container.decode(Bool.self) {
          self = .text("\(value)")
        } else if let value = try? container.decode(Int64.self) {
          self = .text("\(value)")
        } else if let value = try? container.decode(Double.self) {
          self = .text("\(value)")
        } else {
          self = .text(try container.decode(String.self))
        }
      }
    }
  }
}
