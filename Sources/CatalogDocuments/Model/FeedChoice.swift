/// The choices of one reader, which go on from page to page: whose prices, whose words, which application's products.
package struct FeedChoice: Hashable, Sendable {
  package var territory: String?
  package var locale: String?
  package var application: String?

  package init(territory: String? = nil, locale: String? = nil, application: String? = nil) {
    self.territory = territory
    self.locale = locale
    self.application = application
  }

  /// The parameters of a query, in this order.
  var parameters: [(name: String, value: String)] {
    [("application", application), ("locale", locale), ("territory", territory)].compactMap { name, value in
      value.map { (name: name, value: $0) }
    }
  }
}
