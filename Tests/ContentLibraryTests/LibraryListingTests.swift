import Commerce
import ContentPackage
import CoreTypes
import Files
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// The words and pictures of the server that the library keeps.
@Suite("Titles and covers in the library") struct LibraryListingTests {
  private static let address = "/v1/products/p/cover?version=1"

  private let fixture: LibraryFixture
  private let package: FixturePackage
  private let picture: CoverPicture
  private var library: Library { fixture.library }
  private var database: AgentDatabase { fixture.database }
  private var product: ProductIdentifier { package.manifest.product }
  private var folder: String { library.folder(of: product) }

  init() throws {
    fixture = try LibraryFixture()
    package = try FixturePackage.file(length: 1000, product: "com.example.heroes.1", seed: 1)
    picture = try #require(CoverPicture([0xFF, 0xD8, 0xFF, 0xE0]))
  }

  private func entry() throws -> FeedEntry {
    FeedEntry(
      kind: .issueAvailable, product: product, version: package.manifest.version,
      length: package.manifest.length, transaction: try #require(TransactionIdentifier("2000000000000001")))
  }

  /// It waits for the reader, and has a title and a cover.
  private func expect() async throws {
    try database.save(.init(cursor: "1", listed: [product: try entry()]), expectingListingsOf: [product])
    try await library.keep(KeptListing(title: "Heroes"), of: product, isDue: true)
    try await library.keep(picture, at: Self.address, of: product)
    #expect(try FileSystem.status(of: "\(folder)/cover.jpg") != nil)
  }

  /// It was withdrawn, or given up.
  private func giveUp() throws { try database.save(.init(cursor: "2")) }

  @Test("what was withdrawn before the server was asked is asked about no more")
  func neverAnswered() async throws {
    try database.save(.init(cursor: "1"), expectingListingsOf: [product])
    try await library.dropStrayListings()
    #expect(try database.dueListings().isEmpty && !database.hasListing(of: product))
  }

  @Test("a cover that comes after the last version was removed is not kept")
  func removedMeanwhile() async throws {
    try database.save(.init(cursor: "1"), expectingListingsOf: [product])
    try await fixture.place(package)
    _ = try await library.remove(product)
    #expect(try !database.hasListing(of: product))
    try await library.keep(picture, at: Self.address, of: product)
    #expect(try FileSystem.status(of: FileSystem.parent(of: folder)) == nil)
    #expect(library.cover(of: product) == nil)
  }

  @Test("what the news still names keeps its title and its cover when its content is removed")
  func stillNews() async throws {
    try await expect()
    try await fixture.place(package)
    _ = try await library.remove(product)
    #expect(try FileSystem.list(folder).map(\.name) == ["cover.jpg"])
    #expect(library.listings[product]?.title == "Heroes" && library.cover(of: product) != nil)
    try giveUp()
    try await library.dropStrayListings()
    #expect(try FileSystem.status(of: FileSystem.parent(of: folder)) == nil)
    #expect(try !database.hasListing(of: product))
  }

  @Test("a cover that another program has removed is asked for again")
  func missing() async throws {
    try await expect()
    #expect(try database.dueListings().isEmpty)
    #expect(try await library.expectMissingCovers())
    #expect(try database.dueListings().isEmpty)
    try FileSystem.removeFile("\(folder)/cover.jpg")
    #expect(try await library.expectMissingCovers())
    #expect(try database.dueListings() == [product] && library.cover(of: product) == nil)
  }

  @Test("what comes after all while it is given up is asked for, and keeps its title")
  func comesAfterAll() async throws {
    try await expect()
    #expect(try !database.forgetCover(ofStray: product) && !database.removeListing(ofStray: product))
    try giveUp()
    #expect(try database.forgetCover(ofStray: product))
    try database.save(.init(cursor: "3", listed: [product: try entry()]), expectingListingsOf: [product])
    #expect(try !database.removeListing(ofStray: product))
    #expect(try database.dueListings() == [product])
    #expect(try database.listings()[product] == KeptListing(title: "Heroes"))
  }

  @Test("of a correction that comes between a title and its cover the server is asked as well")
  func correctedMeanwhile() async throws {
    try database.save(.init(cursor: "1"), expectingListingsOf: [product])
    library.listings.noteQuestion(about: [product])
    try await library.keep(KeptListing(title: "Heroes"), of: product, isDue: true)
    library.listings.noteArrival(of: [product])
    try database.save(.init(cursor: "2"), expectingListingsOf: [product])
    try await library.keep(picture, at: Self.address, of: product)
    #expect(try database.dueListings() == [product] && library.cover(of: product) != nil)
    library.listings.noteQuestion(about: [product])
    try await library.keep(picture, at: Self.address, of: product)
    #expect(try database.dueListings().isEmpty)
  }

  @Test("a folder that cannot be cleaned holds up no other product's")
  func stuck() async throws {
    try await expect()
    let other = try #require(ProductIdentifier("com.example.villains.1"))
    try database.save(.init(cursor: "2"), expectingListingsOf: [other])
    try FileSystem.removeFile("\(folder)/cover.jpg")
    try FileSystem.createDirectories("\(folder)/cover.jpg/x")
    try await library.dropStrayListings()
    #expect(try database.hasListing(of: product) && !database.hasListing(of: other))
    #expect(fixture.lines.current.contains { $0.contains("cannot be changed") })
  }

  @Test("a cover takes nothing of the reserve")
  func reserve() async throws {
    let full = try LibraryFixture(reserve: .gibibytes(1 << 20))
    try full.database.save(.init(cursor: "1"), expectingListingsOf: [product])
    await #expect(throws: StepFailure.self) {
      try await full.library.keep(picture, at: Self.address, of: product)
    }
    #expect(try FileSystem.status(of: full.library.folder(of: product)) == nil)
  }

  @Test("what goes to make room is told of with its title and its cover")
  func evicted() async throws {
    let small = try LibraryFixture(reserve: .zero, quota: .mebibytes(5))
    let package = try FixturePackage.file(length: 3 << 20, product: "\(product)", seed: 1)
    try small.database.save(.init(cursor: "1"), expectingListingsOf: [product])
    try await small.library.keep(KeptListing(title: "Heroes"), of: product, isDue: true)
    try await small.library.keep(picture, at: Self.address, of: product)
    try await small.place(package)
    let removed = Locked<[LibraryItem]>([])
    small.library.evictionAdvice = Library.EvictionAdvice(
      removable: { [product] _ in Library.Removable(products: [product]) },
      noteRemoval: { item in removed.withLock { $0.append(item) } })
    let room = try await small.library.reserve(
      SpaceNeed(unpacked: .mebibytes(3)), for: .random(),
      of: try #require(ProductIdentifier("com.example.new")), allocating: false)
    room.release()
    #expect(removed.current.map(\.productTitle) == ["Heroes"])
    #expect(removed.current.allSatisfy { $0.cover?.hasSuffix("/cover.jpg") == true })
  }

  @Test("what was asked for in another language is asked for again")
  func anotherLanguage() async throws {
    try await expect()
    try await library.keep(KeptListing(title: "H", locale: "en"), of: product, isDue: false)
    try database.expectListings(in: "en")
    #expect(try database.dueListings().isEmpty)
    try database.expectListings(in: "fr-FR")
    #expect(try database.dueListings() == [product])
    try await library.keep(KeptListing(title: "H", locale: "fr-FR"), of: product, isDue: false)
    try database.expectListings(in: nil)
    #expect(try database.dueListings() == [product])
  }

  @Test(
    "a title is one line that reads as it is written",
    arguments: [
      ("Les h\u{E9}ros", "Les h\u{E9}ros"), ("a\u{202E}b", "ab"), ("a\u{2028}b\u{2029}", "ab"),
      ("a\nb", "a b"),
      ("\u{202E}", nil), ("", nil), (String(repeating: "x", count: 1025), nil),
    ] as [(String, String?)])
  func title(text: String, kept: String?) {
    #expect(KeptListing.title(text) == kept)
  }
}
