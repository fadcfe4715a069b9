import Commerce
import CoreTypes
import Testing

@testable import ContentGrants

@Suite("What other nodes have closed, and is still to be judged")
struct UnjudgedTests {
  private typealias Unjudged = StopFollower.Unjudged

  private func publications(_ names: String...) throws -> Set<ProductIdentifier> {
    Set(try names.map { try #require(ProductIdentifier("com.example.\($0)")) })
  }

  @Test(
    "a part has one publication and all else; what is noted while it is judged stays, also of the same name")
  func parts() throws {
    var unjudged = Unjudged(publications: try publications("a", "b"), isEverything: true)
    let part = unjudged.takePart()
    #expect(part.isEverything && part.publications.count == 1)
    #expect(!unjudged.isEverything && unjudged.publications.count == 1)
    // Another gap, and the publication that is being judged, once more.
    unjudged.isEverything = true
    unjudged.publications.formUnion(part.publications)
    let next = unjudged.takePart()
    #expect(next.isEverything && next.publications.count == 1)
    _ = unjudged.takePart()
    #expect(unjudged.isEmpty)
  }

  @Test("a part that could not be judged is judged again")
  func failure() throws {
    let all = Unjudged(publications: try publications("a", "b"), isEverything: true)
    var unjudged = all
    let part = unjudged.takePart()
    unjudged.add(part)
    #expect(unjudged == all)
  }
}
