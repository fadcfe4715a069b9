import PullboxAPI
import ServiceAPI
import Testing

/// The JSON of one wire type, written by hand after docs/ and without looking at what the code makes of it.
struct WireSample: Sendable, CustomTestStringConvertible {
  /// The type's name within the module.
  let name: String
  /// With every member that the type has.
  let full: String
  /// With those members only that are always there.
  let minimal: String
  let isOperatorWritten: Bool
  /// Reads JSON as that type and writes it again.
  let rewrite: @Sendable (String) throws -> String
  /// The properties that JSON leaves nil or empty.
  let emptyProperties: @Sendable (String) throws -> [String]

  /// `minimal` is `full` where every member is always there. Members stand in the order of their names; white space
  /// between them is for readers.
  init<Value: Codable & Sendable>(_ type: Value.Type, _ full: String, minimal: String? = nil) {
    name = Self.name(of: type)
    self.full = JSONText.compacted(full)
    self.minimal = JSONText.compacted(minimal ?? full)
    isOperatorWritten = type is any OperatorWritten.Type
    rewrite = { text in
      let value = try APIJSON.decode(Value.self, from: Array(text.utf8))
      return String(decoding: try APIJSON.encode(value), as: UTF8.self)
    }
    emptyProperties = { text in
      let value = try APIJSON.decode(Value.self, from: Array(text.utf8))
      return Mirror(reflecting: value).children.compactMap { child in
        let content = Mirror(reflecting: child.value)
        let isEmpty: Bool =
          switch content.displayStyle {
          case .optional, .collection, .dictionary: content.children.isEmpty
          default: false
          }
        return isEmpty ? child.label : nil
      }
    }
  }

  static func name(of type: Any.Type) -> String {
    let qualified = String(reflecting: type).prefix { $0 != "<" }
    return qualified.split(separator: ".").dropFirst().joined(separator: ".")
  }

  var testDescription: String { name }

  static let all = agent + approvals + catalog + customers + delivery + operators + problems + store
}

/// An enumeration whose values are these strings.
struct WireWords: Sendable, CustomTestStringConvertible {
  let name: String
  let words: [String]
  let rewrite: @Sendable (String) throws -> String
  /// Nil for a type that does not list its values.
  let count: Int?
  /// Whether words of tomorrow are passed on.
  let isOpen: Bool

  init<Value: Codable & RawRepresentable & Sendable>(
    _ type: Value.Type, _ words: [String], isOpen: Bool = false
  ) {
    self.isOpen = isOpen
    name = WireSample.name(of: type)
    self.words = words
    rewrite = { text in
      let value = try APIJSON.decode([Value].self, from: Array(#"["\#(text)"]"#.utf8))
      return String(decoding: try APIJSON.encode(value), as: UTF8.self)
    }
    count = (type as? any CaseIterable.Type).map { Self.count($0) }
  }

  private static func count<Value: CaseIterable>(_ type: Value.Type) -> Int { Value.allCases.count }

  var testDescription: String { name }

  static let all = [
    WireWords(
      DownloadStatus.State.self, ["waiting", "active", "paused", "finished", "failed", "cancelled"]),
    WireWords(
      RefundReason.self,
      ["UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER"]),
    WireWords(DownloadUrgency.self, ["now", "normal", "background"]),
    WireWords(
      MachineConditionName.self,
      [
        "metered", "portal", "offline", "battery-low", "on-battery", "power-saver", "sleep", "busy",
      ]),
    WireWords(MachineConditionStatus.State.self, ["yes", "no", "unknown"]),
    WireWords(ConditionSourceStatus.State.self, ["speaks", "silent", "absent"]),
    WireWords(ConditionRule.self, ["wait", "ignore"]),
    WireWords(
      Approval.State.self, ["waiting", "approved", "done", "declined", "refused", "expired"]),
    WireWords(
      OperatorConfiguration.Setting.Origin.self, ["default", "file", "environment", "option"]),
    WireWords(CatalogImportChange.Kind.self, ["product", "publication", "price-tier"]),
    WireWords(
      InvalidProductsReport.Reason.self,
      [
        "unknown", "misspelled", "other-application", "not-cleared", "not-here", "not-yet", "withdrawn",
      ]),
    WireWords(
      SalesReport.Dimension.self, ["day", "product", "territory", "store", "environment"]),
    WireWords(
      Irregularity.Kind.self, ["many-devices", "many-payers", "named-by-many", "other-account"], isOpen: true),
    WireWords(SaleState.self, ["draft", "submitted", "rejected", "cleared", "withdrawn"]),
    WireWords(LibraryEvent.Change.self, ["placed", "removed", "changed"]),
    WireWords(AgentRestoreRequest.Order.self, ["newest", "smallest"]),
    WireWords(LibraryItem.State.self, ["present", "offline", "damaged"]),
    WireWords(ProductOwnership.Verification.self, ["verified", "unverified"]),
    WireWords(
      ProductOwnership.UnverifiedReason.self,
      ["no-license", "license-expired", "newer-than-license", "not-in-license", "consumable"]),
    WireWords(ProductOwnership.Content.self, ["present", "withdrawn"]),
    WireWords(LibraryVerification.Fault.Kind.self, ["missing", "damaged", "foreign"]),
    WireWords(PackageFault.self, ["missing", "damaged"], isOpen: true),
    WireWords(DeliveryProgress.self, ["waiting", "fetching", "stuck", "unverified"]),
    WireWords(GrantState.self, ["granted", "completed", "finished", "reading", "revoked"]),
    WireWords(
      VersionState.self,
      ["draft", "submitted", "approved", "rejected", "released", "superseded", "withdrawn"]),
    WireWords(OutboxCall.State.self, ["waiting", "parked", "done", "dropped"]),
    WireWords(OperatorScope.self, ["read", "publish", "review", "admin"]),
    WireWords(AccountOffer.Kind.self, ["introductory"]),
    WireWords(CodePreview.Kind.self, ["gift", "offer", "promotional"]),
    WireWords(StoreOffer.Payment.self, ["free-trial", "pay-as-you-go", "pay-up-front"]),
    WireWords(StoreSubscription.State.self, ["active", "billing-retry", "paused", "expired"]),
    WireWords(
      StoreTransaction.State.self, ["purchasing", "purchased", "failed", "restored", "deferred"]),
  ]
}
