import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite("What the documentation shows")
struct WalkthroughTests {
  @Test("the commands of the pages run as they are written, and print what stands there")
  func publishing() async throws {
    let directory = try TemporaryDirectory()
    let outcome = try await Executables.run(
      "/usr/bin/env",
      [
        "python3", "-B", "\(Executables.root)/scripts/walkthrough", "--check", "--bin", Executables.directory,
      ],
      in: directory)
    #expect(outcome.succeeded, "\(outcome.output)\(outcome.errors)")
  }

  @Test("what a page starts is gone when the walk has ended, also what has left its shell")
  func leftovers() async throws {
    let directory = try TemporaryDirectory()
    let name = "walk-\(UInt64.random(in: .min ... .max))"
    let page = """
      <!-- walkthrough: without daemons -->

      ```sh
      cp /bin/sleep ./\(name)
      setsid ./\(name) 600 >/dev/null 2>&1 &
      until pgrep -x \(name.prefix(15)); do :; done
      ```

      """
    try DurableFile.write(Array(page.utf8).span, to: directory.path("page.md"))
    let outcome = try await Executables.run(
      "/bin/bash",
      [
        "-c",
        "unshare --pid --fork --mount-proc true || { echo skipped; exit; }; "
          + "python3 -B \(Executables.root)/scripts/walkthrough --check --bin \(Executables.directory) '\(directory.path("page.md"))'; "
          + "pgrep -x \(name.prefix(15)) && echo left", "bash",
      ], in: directory)
    guard outcome.output != "skipped\n" else { return }
    #expect(
      outcome.output.hasPrefix("3 commands were run as they are written"),
      "\(outcome.output)\(outcome.errors)")
    #expect(!outcome.output.contains("left"))
  }
}
