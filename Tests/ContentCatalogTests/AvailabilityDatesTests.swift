import Commerce
import CoreTypes
import PullboxTesting
import Testing

@testable import ContentCatalog

@Suite("Times in which the sale stays as it is")
struct AvailabilityDatesTests {
  private func moment(_ number: Int64) -> Timestamp { Timestamp(millisecondsSinceEpoch: number) }

  private func product(_ from: Int64?, _ until: Int64?) throws -> Product {
    var product = Product(id: try SampleProduct.name("a"), type: .nonConsumable)
    product.availableFrom = from.map(moment)
    product.availableUntil = until.map(moment)
    return product
  }

  @Test("a time lasts from the date before to the next one, which does not belong to it")
  func bounds() throws {
    var dates = AvailabilityDates()
    dates.replace(nil, by: try product(10, 20))
    dates.sort()
    for (now, since, until) in [
      (9, nil, 10), (10, 10, 20), (19, 10, 20), (20, 20, nil), (1000, 20, nil),
    ] as [(Int64, Int64?, Int64?)] {
      let steady = dates.steady(around: moment(now))
      #expect(steady == SteadySale(since: since.map(moment), until: until.map(moment)), "\(now)")
      #expect(steady.contains(moment(now)))
      if let since { #expect(!steady.contains(moment(since - 1))) }
      if let until { #expect(!steady.contains(moment(until))) }
    }
  }

  @Test("without dates the sale stays as it is for ever")
  func none() throws {
    var dates = AvailabilityDates()
    dates.replace(nil, by: try product(nil, nil))
    dates.sort()
    #expect(dates.steady(around: moment(5)) == SteadySale(since: nil, until: nil))
  }

  @Test("a date counts as long as any product has it")
  func shared() throws {
    var dates = AvailabilityDates()
    let (first, second) = (try product(10, nil), try product(10, 30))
    dates.replace(nil, by: first)
    dates.replace(nil, by: second)
    dates.replace(first, by: nil)
    dates.sort()
    #expect(dates.steady(around: moment(10)).since == moment(10))
    dates.replace(second, by: try product(nil, 30))
    dates.sort()
    #expect(dates.steady(around: moment(10)) == SteadySale(since: nil, until: moment(30)))
  }

  @Test("after any changes the time around a moment is that which all dates leave")
  func model() throws {
    var generator = SplitMix(seed: 5)
    var dates = AvailabilityDates()
    var products: [Product?] = Array(repeating: nil, count: 8)
    for _ in 0..<2000 {
      let place = Int.random(in: products.indices, using: &generator)
      func date() -> Int64? {
        Bool.random(using: &generator) ? Int64.random(in: 0..<40, using: &generator) : nil
      }
      let new = Int.random(in: 0..<4, using: &generator) == 0 ? nil : try product(date(), date())
      dates.replace(products[place], by: new)
      products[place] = new
      dates.sort()
      let all = products.compactMap(\.self).flatMap { [$0.availableFrom, $0.availableUntil] }.compactMap(
        \.self)
      let now = moment(Int64.random(in: -1..<41, using: &generator))
      #expect(
        dates.steady(around: now)
          == SteadySale(since: all.filter { $0 <= now }.max(), until: all.filter { $0 > now }.min()))
    }
  }
}
