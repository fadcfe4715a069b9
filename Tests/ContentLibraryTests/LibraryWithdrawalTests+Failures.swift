import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Files
import Glibc
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

// Deaths and failures while content moves out and back.
extension LibraryWithdrawalTests {
  /// The next process on the same records.
  private func restarted(_ fixture: LibraryFixture) throws -> Library {
    fixture.library.close()
    let library = Library(paths: fixture.paths, database: fixture.database, log: Log(level: .error))
    library.ownership.load(try fixture.database.ownership())
    try #require(try library.look() == .online)
    return library
  }

  @Test("a death at any step of moving out or back loses nothing, and the next process ends the move")
  func deaths() async throws {
    for isBack in [false, true] {
      var index = 0
      while true {
        let operations = FaultyFileOperations()
        let fixture = try LibraryFixture(operations: operations)
        try await fixture.place(package)
        if isBack {
          try await hear(.revoked, fixture.library)
          _ = await fixture.library.settleWithdrawals()
        }
        try await hear(isBack ? .reinstated : .revoked, fixture.library)
        operations.die(at: operations.steps.count + index)
        _ = await fixture.library.settleWithdrawals()
        let hasDied = operations.isDead
        let library = try restarted(fixture)
        let settled = await library.settleWithdrawals()
        #expect(!settled.isPending)
        let item = try #require(try await library.items().first)
        #expect(item.withdrawn == (isBack ? nil : true), "call \(index)")
        #expect(item.state == (isBack ? .present : .offline), "call \(index)")
        #expect(try isThere(fixture.path(package)) == isBack && isThere(hidden(fixture)) == !isBack)
        #expect(try await library.verify().map(\.state) == [.present], "call \(index)")
        library.close()
        guard hasDied else { break }
        index += 1
      }
      #expect(index > 5)
    }
  }

  @Test(
    "a death at any step of a removal leaves the version whole or gone, with nothing in the trash",
    arguments: [false, true])
  func deathsOfRemovals(isWithdrawn: Bool) async throws {
    var index = 0
    var outcomes: Set<Int> = []
    while true {
      let operations = FaultyFileOperations()
      let fixture = try LibraryFixture(operations: operations)
      try await fixture.place(package)
      if isWithdrawn {
        try await hear(.revoked, fixture.library)
        _ = await fixture.library.settleWithdrawals()
      }
      operations.die(at: operations.steps.count + index)
      _ = try? await fixture.library.remove(product)
      let hasDied = operations.isDead
      let library = try restarted(fixture)
      let items = try await library.items()
      #expect(items.allSatisfy { $0.state == (isWithdrawn ? .offline : .present) }, "call \(index)")
      #expect(try await library.verify().allSatisfy { $0.state == .present }, "call \(index)")
      #expect(try isThere(isWithdrawn ? hidden(fixture) : fixture.path(package)) == !items.isEmpty)
      let hasTrash = try isThere(fixture.paths.trash)
      #expect(try !hasTrash || FileSystem.list(fixture.paths.trash).isEmpty, "call \(index)")
      outcomes.insert(items.count)
      library.close()
      guard hasDied else { break }
      index += 1
    }
    #expect(index > 5 && outcomes == [0, 1])
  }

  @Test("a removal that fails is ended by the next process that can, and takes nothing offline until then")
  func failedRemoval() async throws {
    let operations = FaultyFileOperations()
    let fixture = try LibraryFixture(operations: operations)
    try await fixture.place(package)
    let other = try FixturePackage.file(length: 10, product: "com.example.other")
    try await fixture.place(other)
    let manifests = "/\(product)/."
    let refuse: @Sendable (FileCall, String) -> Int32? = { call, subject in
      call == .remove && subject.contains(manifests) ? EIO : nil
    }
    operations.answer(refuse)
    await #expect(throws: SystemError.self) { try await fixture.library.remove(product) }
    // What else goes through the trash leaves it there.
    try await fixture.place(other)
    await fixture.library.emptyTrashLeft()
    #expect(try FileSystem.list(fixture.paths.trash).count == 1)
    let unreadable: @Sendable (FileCall, String) -> Int32? = { call, subject in
      call == .open && subject.hasSuffix(".trash") ? EACCES : nil
    }
    for rule in [refuse, unreadable] {
      fixture.library.close()
      let failing = FaultyFileOperations()
      failing.answer(rule)
      let next = Library(
        paths: fixture.paths, database: fixture.database, operations: failing, log: Log(level: .error))
      #expect(try next.look() == .online)
      #expect(try await next.items().count == 2)
      next.close()
    }
    #expect(try FileSystem.list(fixture.paths.trash).count == 1)
    let last = try restarted(fixture)
    #expect(try await last.items().map(\.product) == [other.manifest.product])
    #expect(try FileSystem.list(fixture.paths.trash).isEmpty)
    last.close()
  }

  @Test("a move that fails at any step is tried again while the library lives, out as well as back")
  func failures() async throws {
    for isBack in [false, true] {
      var index = 0
      while true {
        // An error that damages nothing that is read.
        let number = index % 2 == 0 ? ENOSPC : EBUSY
        let operations = FaultyFileOperations()
        let fixture = try LibraryFixture(operations: operations)
        try await fixture.place(package)
        if isBack {
          try await hear(.revoked, fixture.library)
          _ = await fixture.library.settleWithdrawals()
        }
        try await hear(isBack ? .reinstated : .revoked, fixture.library)
        operations.fail(call: operations.steps.count + index, number: number)
        var changed = await fixture.library.settleWithdrawals().changed
        let hasFailed = operations.failures > 0
        // A settling has more calls or fewer, so that the call may not have come yet.
        operations.fail(call: .max, number: number)
        let settled = await fixture.library.settleWithdrawals()
        changed += settled.changed
        #expect(!settled.isPending && !changed.isEmpty, "call \(index), errno \(number)")
        let item = try #require(try await fixture.library.items().first)
        #expect(item.withdrawn == (isBack ? nil : true), "call \(index), errno \(number)")
        #expect(item.state == (isBack ? .present : .offline), "call \(index), errno \(number)")
        #expect(try isThere(fixture.path(package)) == isBack && isThere(hidden(fixture)) == !isBack)
        #expect(try await fixture.library.verify().map(\.state) == [.present], "call \(index)")
        guard hasFailed else { break }
        index += 1
      }
      #expect(index > 5)
    }
  }

  @Test("a move that fails at the start takes nothing offline, and is tried again")
  func failsAtStart() async throws {
    let operations = FaultyFileOperations()
    let fixture = try LibraryFixture(operations: operations)
    try await fixture.place(package)
    try await hear(.revoked, fixture.library)
    operations.answer { call, _ in call == .rename ? ENOSPC : nil }
    #expect(await fixture.library.settleWithdrawals().isPending)
    fixture.library.close()
    let library = Library(
      paths: fixture.paths, database: fixture.database, operations: operations, log: Log(level: .error))
    library.ownership.load(try fixture.database.ownership())
    #expect(try library.look() == .online)
    operations.answer(nil)
    let settled = await library.settleWithdrawals()
    #expect(settled.changed.map(\.withdrawn) == [true] && !settled.isPending)
    #expect(try !isThere(fixture.path(package)))
    library.close()
  }

  @Test(
    "of content at both places the one that is as its manifest says stays, and what is revoked is not readable",
    arguments: [true, false], [true, false])
  func twoCopies(isRevoked: Bool, isHiddenWhole: Bool) async throws {
    let fixture = try LibraryFixture()
    let name = try #require(package.files.keys.first)
    try await fixture.place(package)
    try await hear(.revoked, fixture.library)
    _ = await fixture.library.settleWithdrawals()
    // It was fetched again before the move back had succeeded.
    let record = try #require(try fixture.database.libraryRecords().first)
    try fixture.database.setWithdrawn(false, of: record)
    try FileSystem.createDirectories(fixture.path(package))
    let bytes = try #require(package.files[name])
    try DurableFile.write(bytes.span, to: fixture.path(package, name))
    try fixture.flip(isHiddenWhole ? fixture.path(package, name) : "\(hidden(fixture))/\(name)", at: 10)
    if !isRevoked { try await hear(.reinstated, fixture.library) }
    let settled = await fixture.library.settleWithdrawals()
    #expect(settled.changed.map(\.withdrawn) == [isRevoked ? true : nil] && !settled.isPending)
    #expect(try isThere(fixture.path(package)) != isRevoked)
    #expect(try isThere(hidden(fixture)) == isRevoked)
    #expect(try await fixture.library.verify().map(\.state) == [.present])
    #expect(await fixture.library.settleWithdrawals().changed.isEmpty)
  }

  @Test("what another program puts at the place of hidden content is no reason to move anything")
  func foreignAtPlace() async throws {
    let fixture = try LibraryFixture()
    try await fixture.place(package)
    try await hear(.revoked, fixture.library)
    _ = await fixture.library.settleWithdrawals()
    try FileSystem.createDirectories(fixture.path(package))
    try DurableFile.write([1, 2, 3].span, to: fixture.path(package, "notes.txt"))
    #expect(await fixture.library.settleWithdrawals().changed.isEmpty)
    #expect(try isThere(fixture.path(package, "notes.txt")) && isThere(hidden(fixture)))
  }

  @Test("what was made readable for a download that came to nothing is settled at once")
  func brokenOff() async throws {
    struct Full: Error {}
    let fixture = try LibraryFixture()
    let library = fixture.library
    func isSignalled() async -> Bool {
      await library.withdrawals.wait(atMost: .zero, clock: SystemMonotonicClock())
    }
    try await fixture.place(package)
    try await hear(.revoked, library)
    _ = await library.settleWithdrawals()
    _ = await isSignalled()
    await #expect(throws: Full.self) {
      _ = try await library.place(package.manifest, at: LibraryFixture.now) { _ in throw Full() }
    }
    #expect(await isSignalled())
    try await fixture.place(package)
    _ = await library.settleWithdrawals()
    _ = await isSignalled()
    let name = try #require(package.files.keys.first)
    try fixture.flip("\(hidden(fixture))/\(name)", at: 10)
    #expect(try await library.recordPlaced(package.manifest, at: LibraryFixture.now) == nil)
    #expect(await isSignalled())
  }
}
