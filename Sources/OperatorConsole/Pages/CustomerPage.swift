import Commerce
import CoreTypes
import Entitlements
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// A customer, by a transaction, an order, a device, an application's user or the server's own name: what was granted, and why a product
/// may be had or not.
struct CustomerPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(
      only: Set(Self.names + ["store", "product", "at", "after", "behind", "notice"]))
    let subject = Self.names.map { ($0, visit.value($0)) }
    // The interface's customers have one name, and devices and users one store.
    let isOne = subject.count { $0.1 != nil } == 1
    let (ownedList, explanation) = (entitlements(subject), explanationAddress(subject))
    async let askedOwned = read(ownedList, as: PullboxAPI.Page<CustomerEntitlement>.self)
    async let askedWhy = read(explanation, as: ExplanationResponse.self)
    async let askedPeople = read(
      isOne ? .interface("customers", query: subject + [("store", visit.value("store"))]) : nil,
      as: OperatorCustomers.self)
    // Whose grants they are, the people may have to tell first.
    async let askedGrants =
      visit.value("account") == nil
      ? read(granted(subject, nil), as: PullboxAPI.Page<OperatorGrant>.self) : nil
    let people = await askedPeople
    let grants =
      visit.value("account") == nil
      ? await askedGrants
      : await read(granted(subject, people), as: PullboxAPI.Page<OperatorGrant>.self)
    let (entitled, explained) = await (askedOwned, askedWhy)
    return Page(
      words(.customers), in: .customers, reading: explanation ?? ownedList,
      command: isOne ? command : nil
    ) {
      element(.p, .look(.hint)) { words(.customerHint) }
      Parts.filters(.console("customers"), words) {
        Parts.field(words(.transactionOrOrder), "transaction", visit.value("transaction"), .search)
        Parts.field(words(.device), "device", visit.value("device"), .search)
        Parts.field(words(.applicationUser), "account", visit.value("account"), .search)
        if let customer = visit.value("customer") {
          Parts.field(words(.customer), "customer", customer, .search)
        }
        Parts.field(words(.store), "store", visit.value("store"), .search)
        Parts.field(words(.product), "product", visit.value("product"), .search, hint: words(.explainHint))
      }
      if let explained {
        Parts.section(words(.mayHave, visit.value("product") ?? ""), explained, words) { tree($0) }
      }
      if let entitled {
        Parts.section(words(.ownedByCustomer), entitled, words) { owned($0) }
      }
      if let people {
        Parts.section(words(.devicesAndKeys), people, words) { CustomerDevices(visit).markup($0) }
      }
      if let grants {
        Parts.section(words(.grantsOfCustomer), grants, words) { page in
          explanations(page.items)
          DeliveriesPage.table(page, visit)
          revocation(page.items, subject)
        }
      }
    }
  }

  /// The reading at that address; nil without one.
  private func read<Value: Decodable & Sendable>(
    _ address: Address?, as type: Value.Type
  ) async -> Result<Value, Problem>? {
    guard let address else { return nil }
    return await visit.get(address, as: type)
  }

  private static let names = ["transaction", "device", "account", "customer"]

  /// The list of the grants. That of an application's user is that of the customer, where there is one alone.
  private func granted(
    _ subject: [(String, String?)], _ people: Result<OperatorCustomers, Problem>?
  ) -> Address? {
    let page = [("after", visit.value("after")), ("limit", "50")]
    guard visit.value("account") != nil else {
      guard subject.contains(where: { $0.1 != nil }) else { return nil }
      return .interface("grants", query: subject + page)
    }
    guard let customers = try? people?.get().customers, customers.count == 1 else { return nil }
    return .interface("grants", query: [("customer", customers.first?.customer)] + page)
  }

  private func explanationAddress(_ subject: [(String, String?)]) -> Address? {
    guard let product = visit.value("product"), subject.contains(where: { $0.1 != nil }) else { return nil }
    return .interface(
      "explain",
      query: subject + [("store", visit.value("store")), ("product", product), ("at", visit.value("at"))])
  }

  private var command: String {
    let subject = Self.names.compactMap { name in
      visit.value(name).map { " --\(name) \(shellWord($0))" }
    }
    let product = visit.value("product").map { " \(shellWord($0))" } ?? ""
    let rest = [("store", "store-name"), ("at", "at")].compactMap { name, option in
      visit.value(name).map { " --\(option) \(shellWord($0))" }
    }
    return "pullbox explain\(product)\(subject.joined())\(rest.joined())"
  }

  /// The list of what is owned, behind the product at which the page before ended.
  private func entitlements(_ subject: [(String, String?)]) -> Address? {
    guard subject.contains(where: { $0.1 != nil }) else { return nil }
    return .interface(
      "entitlements",
      query: subject + [
        ("store", visit.value("store")), ("at", visit.value("at")), ("after", visit.value("behind")),
        ("limit", "50"),
      ])
  }

  /// The table of owned products, because of what and until when, with the explanation of each.
  private func owned(_ page: PullboxAPI.Page<CustomerEntitlement>) -> Markup {
    guard !page.items.isEmpty else { return nothingOwned }
    return Markup([
      Parts.table(
        words(.ownedByCustomer),
        [words(.product), words(.because), words(.transaction), words(.until)],
        page.items.map { item in
          [
            .init(Parts.link(explained(item.product), "\(item.product)")), .init(words(item.rule.phrase)),
            .init(
              Markup([
                Parts.link(
                  .console(
                    "customers", query: [("transaction", "\(item.transaction)"), ("store", "\(item.store)")]),
                  "\(item.transaction)"),
                Markup(", "), Parts.time(item.purchased, words),
              ])),
            .init(item.until.map { Parts.time($0, words) } ?? Markup(words(.withoutEnd))),
          ]
        }),
      page.next.map { next in
        element(.p) { Parts.link(visit.address.with("notice", nil).with("behind", next), words(.nextPage)) }
      } ?? .nothing,
    ])
  }

  private var nothingOwned: Markup {
    guard visit.value("behind") != nil else {
      return element(.p) { words(visit.value("at") == nil ? .nothingOwned : .nothingOwnedThen) }
    }
    return element(.p) {
      words(.nothingMoreOwned) + " "
      Parts.link(visit.address.with("notice", nil).with("behind", nil), words(.firstPage))
    }
  }

  private func explained(_ product: ProductIdentifier) -> Address {
    visit.address.with("notice", nil).with("behind", nil).with("product", "\(product)")
  }

  /// Links to the explanation of each product of the grants.
  private func explanations(_ grants: [OperatorGrant]) -> Markup {
    let products = Set(grants.map(\.product)).sorted { $0.description < $1.description }
    guard !products.isEmpty else { return .nothing }
    return Markup([
      element(.p) { words(.whyEach) },
      element(.ul, .look(.bare)) {
        for product in products {
          element(.li) {
            Parts.link(explained(product), "\(product)")
          }
        }
      },
    ])
  }

  /// Leads to the question whether all of them are to be revoked.
  private func revocation(_ grants: [OperatorGrant], _ subject: [(String, String?)]) -> Markup {
    let named = subject.filter { $0.1 != nil }.map(\.0)
    guard named == ["transaction"] || named == ["device"], visit.may(.admin),
      grants.contains(where: { $0.state != .revoked })
    else { return .nothing }
    return element(.p) {
      element(.a, .look(.button, .danger), .href(.console("customers", "revoke", query: subject))) {
        words(.revokeAll)
      }
    }
  }

  private func tree(_ explained: ExplanationResponse) -> Markup {
    element(.ul, .look(.tree)) {
      element(.li) {
        Parts.state(words(explained.allowed ? .mayBeHad : .mayNotBeHad), explained.allowed ? .good : .bad)
        " "
        Parts.name("\(explained.product)")
        if let until = explained.until {
          " \(words(.until)) "
          Parts.time(until, words)
        }
        element(.ul) {
          branch(words(.because), explained.because)
          branch(words(.against), explained.against)
          readers(explained.readers ?? [])
          element(.li) {
            words(.customersLookedAt) + ": "
            for customer in explained.customers {
              Parts.link(.console("customers", query: [("customer", customer)]), customer)
              " "
            }
          }
        }
      }
    }
  }

  /// The deliveries to applications for reading.
  private func readers(_ deliveries: [ExplanationResponse.ReaderDelivery]) -> Markup {
    guard !deliveries.isEmpty else { return .nothing }
    return element(.li) {
      words(.sentToReaders)
      element(.ul) {
        for delivery in deliveries {
          element(.li) {
            if let title = delivery.title {
              Markup.foreign(title)
              " "
            }
            Parts.link(
              .console("deliveries", query: [("device", "\(delivery.device)")]),
              delivery.name ?? "\(delivery.device)")
            delivery.name == nil ? " (\(words(.keyRemoved)))" : ""
            ": \(words.bytes(delivery.bytesDelivered)), \(words(.version)) \(delivery.version), "
            Parts.time(delivery.created, words)
            if let last = delivery.lastSent {
              " – "
              Parts.time(last, words)
            }
          }
        }
      }
    }
  }

  private func branch(_ title: String, _ findings: [ExplanationResponse.Finding]) -> Markup {
    guard !findings.isEmpty else { return .nothing }
    return element(.li) {
      title
      element(.ul) {
        for finding in findings {
          element(.li) {
            if words.language == .english {
              Markup.foreign(finding.sentence)
            } else {
              words(finding.rule.phrase)
            }
            " "
            Parts.name(finding.rule.rawValue)
            if let transaction = finding.transaction {
              " "
              Parts.link(
                .console(
                  "customers",
                  query: [("transaction", "\(transaction)"), ("product", visit.value("product"))]),
                "\(transaction)")
            }
            if let period = finding.period {
              element(.ul) {
                element(.li) {
                  Parts.time(period.start, words)
                  " – "
                  if let end = period.end { Parts.time(end, words) } else { words(.withoutEnd) }
                }
              }
            }
          }
        }
      }
    }
  }
}
