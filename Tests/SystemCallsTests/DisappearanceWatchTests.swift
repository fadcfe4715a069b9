import Files
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

@Suite(.timeLimit(.minutes(2))) struct DisappearanceWatchTests {
  /// A watch over a library, and its words one after another.
  private func watch(
    _ directory: TemporaryDirectory
  ) throws -> (watch: DisappearanceWatch, told: AsyncStream<Void>) {
    let (told, telling) = AsyncStream<Void>.makeStream()
    let watch = try DisappearanceWatch(
      of: [(directory.path("library"), ["marks"]), (directory.path("library/marks"), ["volume"])]
    ) { telling.yield() }
    return (watch, told)
  }

  @Test(
    "a file that goes is told, and so is a directory that is renamed, and one that is removed",
    arguments: ["volume", "marks", "library"])
  func gone(_ what: String) async throws {
    let directory = try TemporaryDirectory()
    try FileSystem.createDirectories(directory.path("library/marks"))
    for name in ["library/marks/volume", "library/marks/other", "library/product"] {
      try DurableFile.write([1].span, to: directory.path(name), ifPresent: .refuse)
    }
    let (watch, told) = try watch(directory)
    switch what {
    case "volume": _ = try FileSystem.removeFile(directory.path("library/marks/volume"))
    case "marks":
      try FileSystem.rename(directory.path("library/marks"), to: directory.path("library/elsewhere"))
    default: try FileSystem.rename(directory.path("library"), to: directory.path("elsewhere"))
    }
    for await _ in told { break }
    withExtendedLifetime(watch) {}
  }

  @Test("a directory that is not there cannot be watched") func missing() throws {
    #expect(throws: SystemError.self) {
      _ = try DisappearanceWatch(of: [("/nowhere/at/all", [])]) {}
    }
  }
}
