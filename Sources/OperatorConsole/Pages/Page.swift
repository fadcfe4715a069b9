import CoreTypes
import HTTPParsing
import HTTPServer
import PullboxAPI
import RouteAccess
import ServiceAPI

/// The parts of the console, in the order of its navigation.
enum Section: String, CaseIterable, Sendable {
  case today, products, publications, deliveries, customers, stores, money, house, audit

  /// Its address below `/console/`.
  var address: Address { self == .today ? .console() : .console(rawValue) }

  var title: Phrase {
    switch self {
    case .today: .today
    case .products: .products
    case .publications: .publications
    case .deliveries: .deliveries
    case .customers: .customers
    case .stores: .stores
    case .money: .money
    case .house: .house
    case .audit: .audit
    }
  }

  /// The letter that leads to it after `g`, with the script.
  var shortcut: String {
    switch self {
    case .today: "t"
    case .products: "p"
    case .publications: "u"
    case .deliveries: "d"
    case .customers: "c"
    case .stores: "s"
    case .money: "m"
    case .house: "h"
    case .audit: "a"
    }
  }
}

/// One page: what a visit shows, and which reading of the interface it is.
struct Page: Sendable {
  var title: String
  /// Nil for a page that belongs to no part, as an error's.
  var section: Section?
  /// The reading that the page shows.
  var reading: Address?
  /// The command that does the same.
  var command: String?
  var status: HTTPStatus = .ok
  var body: Markup

  init(
    _ title: String, in section: Section?, reading: Address? = nil, command: String? = nil,
    @MarkupBuilder _ body: () -> Markup
  ) {
    self.title = title
    self.section = section
    self.reading = reading
    self.command = command
    self.body = body()
  }
}

/// One request of an operator who is signed in.
struct Visit: Sendable {
  let request: HTTPRequest
  let visitor: Visitor
  let reader: OperatorReader
  let now: Timestamp

  var words: Words { Words(visitor.language) }

  func may(_ scope: OperatorScope) -> Bool { visitor.holder.may(scope) }

  /// The address of the visited page, with its query.
  var address: Address { Address(request.pathSegments, query: request.query.map { ($0.name, $0.value) }) }

  /// A parameter of the query without the spaces around it; nil where there is none, or an empty one.
  func value(_ name: String) -> String? {
    guard let text = request.queryValue(name) else { return nil }
    let start = text.drop { $0.isWhitespace }
    return start.lastIndex { !$0.isWhitespace }.map { String(start[...$0]) }
  }

  /// Reads the interface.
  func get<Value: Decodable & Sendable>(
    _ address: Address, as type: Value.Type = Value.self
  ) async -> Result<Value, Problem> {
    await reader.get(address, as: type).map(\.value)
  }
}

/// The outcome of a form.
enum Outcome: Sendable {
  /// It was done: the browser is led to that page, which says so. Reloading it does nothing again.
  case done(Address, Notice)
  /// It was not: the page with the form again, and what was typed.
  case again(Page)

  /// The outcome of a step that waits for another operator: the browser is led to its request. Nil for any other refusal.
  static func waiting(_ problem: Problem) -> Outcome? {
    guard problem.code == .secondOperatorRequired, let number = problem.approval else { return nil }
    return .done(.console("approvals", "\(number)"), .asked)
  }
}
