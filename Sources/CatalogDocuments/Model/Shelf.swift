package import Commerce
package import PullboxAPI

/// A list of products in the order in which they are shown, of which a page is found at once, however long it is.
package struct Shelf: Sendable {
  /// A page of what a reader sees of a shelf.
  package struct Page<Item> {
    /// The way back from a page.
    package enum Previous: Hashable, Sendable {
      /// This is the first page.
      case none
      /// The page before begins behind that product; nil for the first page.
      case after(ProductIdentifier?)
    }

    package var items: [Item]
    /// The cursor of the page behind; nil on the last one.
    package var next: ProductIdentifier?
    package var previous: Previous
  }

  /// The products in their order.
  package struct Names: RandomAccessCollection, Sendable {
    fileprivate let all: [ProductIdentifier]
    /// Which of `all` these are; nil for every one. A search finds thousands of which a page is shown: no other one's name is touched.
    fileprivate let places: [Int32]?

    package var startIndex: Int { 0 }
    package var endIndex: Int { places?.count ?? all.count }
    package subscript(position: Int) -> ProductIdentifier {
      places.map { all[Int($0[position])] } ?? all[position]
    }
  }

  package let names: Names
  /// Nil for a list that is made for one page: to find a cursor once costs less than to know all places.
  private let places: [ProductIdentifier: Int]?

  /// Arranges the names for any number of pages.
  package init(_ names: [ProductIdentifier]) {
    self.names = Names(all: names, places: nil)
    places = Dictionary(
      names.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
  }

  /// Arranges those of the names that stand at these places, for one page.
  package init(_ places: [Int32], of names: [ProductIdentifier]) {
    self.names = Names(all: names, places: places)
    self.places = nil
  }

  private func place(of name: ProductIdentifier) -> Int? {
    guard let places else { return names.firstIndex(of: name) }
    return places[name]
  }

  /// Returns the page of `length` items behind the cursor. Where so many products were looked at that none is shown of, the page has
  /// fewer, and its ``Page/next`` goes on. Throws `request-malformed` for a cursor that is not of this shelf.
  ///
  /// - Parameters:
  ///   - after: the last product of the page before; nil for the first page.
  ///   - looks: products that are looked at for it, at most.
  ///   - isShown: asked about products before the page.
  ///   - make: nil for a product that is not shown.
  package func page<Item>(
    after: ProductIdentifier?, length: Int, looks: Int, isShown: (ProductIdentifier) -> Bool,
    of make: (ProductIdentifier) -> Item?
  ) throws(Problem) -> Page<Item> {
    var page = Page<Item>(items: [], next: nil, previous: .none)
    var start = 0
    if let after {
      guard let place = place(of: after) else {
        throw Problem(.requestMalformed, "after is the next of the page before")
      }
      start = place + 1
      page.previous = .after(cursor(before: place, length: length, looks: looks, isShown))
    }
    var last: ProductIdentifier?
    for (count, name) in names[start...].enumerated() {
      if count >= looks {
        page.next = names[start + count - 1]
        return page
      }
      guard let item = make(name) else { continue }
      if page.items.count == length {
        page.next = last
        return page
      }
      page.items.append(item)
      last = name
    }
    return page
  }

  /// The cursor of the page that ends with the product at `place`; nil where that is the first page.
  private func cursor(
    before place: Int, length: Int, looks: Int, _ isShown: (ProductIdentifier) -> Bool
  ) -> ProductIdentifier? {
    var found = 0
    for (count, name) in names[...place].reversed().enumerated() {
      if count >= looks { return name }
      guard isShown(name) else { continue }
      if found == length { return name }
      found += 1
    }
    return nil
  }
}
