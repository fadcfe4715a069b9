import Commerce
import CoreTypes
import Files
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@Suite("Products on the command line", .timeLimit(.minutes(2)))
struct ProductCommandTests {
  @Test("a new product bears the title of its metadata, and its texts and its sale can be changed")
  func product() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let folder = stack.directory.path("old-issue")
      try FileSystem.createDirectory(folder, permissions: 0o755)
      let info = "<?xml version=\"1.0\"?><ComicInfo><Title>The lamp</Title></ComicInfo>"
      try DurableFile.write(Array(info.utf8).span, to: folder + "/ComicInfo.xml")
      try DurableFile.write([UInt8](repeating: 7, count: 5000).span, to: folder + "/page-1.jpg")
      try await stack.publishByCommand(folder, as: "com.example.lamp")
      let shown = try await stack.pullbox("product", "com.example.lamp")
      #expect(shown.output.contains("on sale\n  en-US  The lamp"), "\(shown.output)\(shown.errors)")
      let changed = try await stack.pullbox(
        "product", "com.example.lamp", "--title", "The lamp, again", "--off-sale")
      #expect(changed.output.contains("off sale\n  en-US  The lamp, again"), "\(changed.errors)")
      let entry = try await stack.operatorWeb.get("/v1/operator/products/com.example.lamp")
        .decoded(OperatorProduct.self)
      #expect(!entry.onSale && entry.product.publisherKeys?.count == 1)
    }
  }
}

@Suite("The command line as a process", .timeLimit(.minutes(5)))
struct CommandLineTests {
  private func run(_ command: String) async throws -> Executables.Outcome {
    let directory = try TemporaryDirectory()
    return try await Executables.run(
      "/bin/bash", ["-c", command, "bash", Executables.path("pullbox"), directory.path], in: directory)
  }

  @Test("a terminal that closes ends a command that waits, with the code of SIGHUP (K21)")
  func hangup() async throws {
    // A server that is away is waited for.
    let outcome = try await run(
      """
      "$1" gc --server http://127.0.0.1:9 --operator-key k --patience 10m 2>"$2/errors" &
      until grep -q waiting "$2/errors" 2>/dev/null; do kill -0 $! || break; sleep 0.05; done
      kill -HUP $!
      wait $!
      echo "exit $?"
      """)
    #expect(outcome.output == "exit 129\n", "\(outcome.errors)")
  }

  @Test(
    "values that no command could use are wrong usage everywhere (K21)",
    arguments: [
      "status --agent-socket ''", "key --agent-socket ''", "key --patience x", "downloads --patience -1s",
      "buy a --timeout x", "buy a --timeout 0", "restore --timeout 8d", "status --color blue",
      "status -q -v", "pause", "pause a --all", "transactions --state lost", "downloads --state lost",
      "priority d1 5000", "product a --on-sale --off-sale",
      "release a 1.0 --at 2026-12-24T09:00:00", "release a 1.0 --at 2026-12-24",
      "explain a --transaction 1 --store google", "outbox --store google",
      "explain a --device d --store former",
    ])
  func wrongUsage(words: String) async throws {
    let outcome = try await run("\"$1\" \(words) --server http://127.0.0.1:9; echo \"exit $?\"")
    #expect(outcome.output == "exit 2\n", "\(outcome.output)\(outcome.errors)")
    #expect(outcome.errors.split(separator: "\n").count == 1)
  }

  @Test("a socket that this user may not open is said to be that, with the group that may")
  func permission() async throws {
    // Root may open everything: the command runs as another user.
    let outcome = try await run(
      """
      [ "$(id -u)" = 0 ] || { echo skipped; exit; }
      chmod 755 "$2" && touch "$2/agent.sock" && chgrp daemon "$2/agent.sock" && chmod 660 "$2/agent.sock"
      cp "$1" "$2/pullbox" && chmod 755 "$2/pullbox"
      setpriv --reuid 65534 --regid 65534 --clear-groups "$2/pullbox" status --agent-socket "$2/agent.sock" 2>&1
      """)
    guard outcome.output != "skipped\n" else { return }
    #expect(outcome.output.contains("this user may not open the agent's socket"), "\(outcome.output)")
    #expect(outcome.output.contains("members of the group daemon may"))
  }

  @Test("a page of a proxy is told in a sentence, not as it is")
  func proxyPage() async throws {
    let outcome = try await run(
      """
      answer=$'HTTP/1.1 502 Bad Gateway\\r\\nContent-Type: text/html\\r\\nContent-Length: 15\\r\\nConnection: close\\r\\n\\r\\n<html>502</html'
      python3 - "$answer" "$2/port" <<'END' &
      import socket, sys
      listener = socket.create_server(("127.0.0.1", 0))
      with open(sys.argv[2] + ".new", "w") as file: file.write(str(listener.getsockname()[1]))
      import os; os.rename(sys.argv[2] + ".new", sys.argv[2])
      connection = listener.accept()[0]
      connection.recv(65536)
      connection.sendall(sys.argv[1].encode())
      connection.close()
      END
      until [ -e "$2/port" ]; do kill -0 $! || exit 9; sleep 0.05; done
      "$1" products --server "http://127.0.0.1:$(cat "$2/port")" --operator-key k
      echo "exit $?"
      wait
      """)
    #expect(outcome.output == "exit 4\n", "\(outcome.errors)")
    #expect(outcome.errors.contains("a proxy before the service does not reach it (status 502)"))
    #expect(!outcome.errors.contains("<html"))
  }

  @Test("--verbose tells what is asked of a service, on standard error")
  func verbose() async throws {
    let outcome = try await run(
      "\"$1\" products -v --server http://127.0.0.1:9 --operator-key k; echo \"exit $?\"")
    #expect(outcome.output == "exit 4\n")
    #expect(outcome.errors.contains("GET http://127.0.0.1:9/v1/operator/products"))
  }
}
