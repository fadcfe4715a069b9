import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The devices and the readers' keys of customers, as a part of their page.
struct CustomerDevices {
  let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  @MarkupBuilder
  func markup(_ found: OperatorCustomers) -> Markup {
    for customer in found.customers {
      if found.customers.count > 1 {
        element(.h3) {
          Parts.link(.console("customers", query: [("customer", customer.customer)]), customer.customer)
        }
      }
      if customer.devices.isEmpty {
        element(.p) { words(.noDevices) }
      } else {
        devices(customer.devices)
      }
      if customer.readers.isEmpty {
        element(.p) { words(.noReaderKeys) }
      } else {
        readers(customer.readers)
      }
    }
  }

  private func devices(_ devices: [OperatorCustomer.Device]) -> Markup {
    Parts.table(
      words(.devices), [words(.device), words(.firstSeen), words(.lastSeen)],
      devices.map { device in
        [
          .init(
            Parts.link(.console("customers", query: [("device", "\(device.device)")]), "\(device.device)")),
          .init(Parts.time(device.firstSeen, words)), .init(Parts.time(device.lastSeen, words)),
        ]
      })
  }

  private func readers(_ keys: [OperatorReaderKey]) -> Markup {
    Parts.table(
      words(.readerKeys),
      [words(.title), words(.identifier), words(.made), words(.lastUsed)]
        + (visit.may(.admin) ? [words(.nextStep)] : []),
      keys.map { key in
        [
          .init(Markup.foreign(key.title)), .init(Parts.name(key.name)),
          .init(Parts.time(key.created, words)),
          .init(key.used.map { Parts.age(of: $0, visit) } ?? Markup(words(.neverUsed))),
        ]
          + (visit.may(.admin)
            ? [
              .init(Parts.link(.console("customers", "reader", query: [("name", key.name)]), words(.endKey)))
            ]
            : [])
      })
  }
}

/// Asks before a reader's key is ended, and says what will happen.
struct ReaderKeyStepPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["name"])
    guard let name = visit.value("name") else { throw Problem(.requestMalformed, "name is missing") }
    return await page(of: name, reason: nil, problem: nil)
  }

  /// Ends the key, and asks again where that is refused.
  func take(_ form: FormBody) async throws -> Outcome {
    guard let name = form.text("name") else { throw Problem(.requestMalformed, "name is missing") }
    let reason = form.text("reason")
    let home = Self.home(form)
    let result = await visit.reader.change(
      .interface("readers", name, "remove"), with: ReasonBody(reason: reason), once: form["once"],
      as: OperatorReaderKey.self)
    switch result {
    case .success: return .done(home, .keyEnded)
    case .failure(let problem): return .again(await page(of: name, reason: reason, problem: problem))
    }
  }

  /// The customer, of whom another device or transaction may be known.
  private static func home(_ form: FormBody) -> Address {
    .console("customers", query: [("device", form.text("device"))])
  }

  private func page(of name: String, reason: String?, problem: Problem?) async -> Page {
    let reading = Address.interface("customers", query: [("device", "reader-\(name)")])
    let found = await visit.get(reading, as: OperatorCustomers.self)
    let customer = (try? found.get())?.customers.first
    let key = customer?.readers.first { $0.name == name }
    var page = Page(
      words(.endKeyTitle, key?.title ?? name), in: .customers, reading: reading,
      command: "pullbox customers end \(shellWord(name))"
    ) {
      if let problem { StepForm.refusal(problem, meanwhile: nil, visit) }
      switch (found, key) {
      case (.failure(let problem), _): Parts.problem(problem, words)
      case (.success, nil): element(.p) { words(.noSuchKey) }
      case (.success, let key?):
        element(.p) { words(.endKeyConsequence, key.title) }
        Layout.form(.console("customers", "reader"), visit) {
          StepForm.hidden(nil)
          element(.input, .input(.hidden), .name("name"), .value(name))
          if let device = customer?.devices.first {
            element(.input, .input(.hidden), .name("device"), .value("\(device.device)"))
          }
          Parts.text(words(.reason), "reason", reason, hint: words(.reasonHint))
          element(.button, .look(.danger)) { words(.endKey) }
        }
      }
      element(.p) {
        element(
          .a,
          .href(.console("customers", query: [("device", customer?.devices.first.map { "\($0.device)" })]))
        ) { words(.cancel) }
      }
    }
    if let problem { page.status = HTTPStatus(rawValue: problem.status) }
    return page
  }
}
