import Database
import Testing

@testable import AgentRecords
@testable import ContentLibrary

@Suite("A full state disk", .serialized, .timeLimit(.minutes(10))) struct FullStateDiskTests {
  @Test("a library that is known is not written down again at each start")
  func knownVolume() throws {
    let fixture = try LibraryFixture()
    fixture.library.close()
    try fixture.database.database.writeBlocking(locking: [.everything]) { connection in
      _ = try connection.execute(
        """
        CREATE TRIGGER kept BEFORE DELETE ON library_volume
        BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END
        """)
    }
    let started = Library(paths: fixture.paths, database: fixture.database)
    #expect(try started.look() == .online)
  }
}
