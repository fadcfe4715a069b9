import Files
import PullboxTesting
import SystemCalls
import Testing

/// Files as people have them, from the command line to the server.
@Suite("Files as people have them", .timeLimit(.minutes(3)))
struct FoundFilesTests {
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]

  private struct Manifest: Decodable {
    var pageCount: Int?
    var cover: String?
    var readingOrder: [String]?
    var files: [File]

    struct File: Decodable { var path: String }
  }

  private func write(_ bytes: [UInt8], to path: String) throws {
    try FileSystem.createDirectories(FileSystem.parent(of: path))
    try DurableFile.write(bytes.span, to: path)
  }

  private func manifest(_ product: String, at stack: Stack) async throws -> Manifest {
    try await stack.operatorWeb.get("/v1/operator/products/\(product)/versions/1.0/manifest").decoded(
      Manifest.self)
  }

  /// Runs a Python program that writes an archive to its first argument.
  private func archive(_ name: String, _ program: String, in stack: Stack) async throws -> String {
    let path = stack.directory.path(name)
    let outcome = try await Executables.run(
      "/usr/bin/python3", ["-c", "import sys, zipfile\npath = sys.argv[1]\n" + program, path],
      in: stack.directory)
    try #require(outcome.succeeded, "\(outcome.errors)")
    return path
  }

  @Test("resource forks are neither pages nor packed, and publish says which they were")
  func resourceForks() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let folder = stack.directory.path("issue")
      for page in 1...3 {
        try write(Self.png, to: "\(folder)/page\(page).png")
        try write([0, 5, 0x16, 7], to: "\(folder)/__MACOSX/._page\(page).png")
      }
      try write([0, 5, 0x16, 7], to: "\(folder)/._page1.png")
      try write([], to: "\(folder)/page4.png")
      let outcome = try await stack.pullbox(
        "publish", folder, "--product", "com.example.forks", "--version", "1.0", "--release")
      #expect(outcome.succeeded, "\(outcome.errors)")
      for line in [
        "not packed: __MACOSX (a resource fork of macOS)",
        "not packed: ._page1.png (a resource fork of macOS)",
        "no page: page4.png (it has no bytes)",
      ] { #expect(outcome.errors.contains(line), "\(outcome.errors)") }
      let manifest = try await manifest("com.example.forks", at: stack)
      #expect(manifest.pageCount == 3 && manifest.cover == "page1.png")
      #expect(manifest.files.map(\.path) == ["page1.png", "page2.png", "page3.png", "page4.png"])
    }
  }

  @Test("what goes on behind a number comes behind it, and the cover is the first page")
  func order() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let folder = stack.directory.path("issue")
      let order = [
        "Chapter 1/001.png", "Chapter 1 Extra/001.png", "Chapter 1.5/001.png", "p1.png", "p1 b.png",
        "p1-2.png", "p1.5.png",
        "p10.png",
      ]
      for path in order { try write(Self.png, to: "\(folder)/\(path)") }
      let outcome = try await stack.pullbox(
        "publish", folder, "--product", "com.example.order", "--version", "1.0", "--release")
      #expect(outcome.succeeded, "\(outcome.errors)")
      let manifest = try await manifest("com.example.order", at: stack)
      #expect(manifest.readingOrder == order && manifest.cover == order[0])
    }
  }

  @Test(
    "a comic book whose names are not UTF-8 is delivered as it is; a name that leads out is refused with the name"
  )
  func names() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let odd = try await archive(
        "odd.cbz",
        """
        class Raw(zipfile.ZipInfo):
            def _encodeFilenameFlags(self): return self.raw, 0
        with zipfile.ZipFile(path, 'w') as z:
            for raw in ('é-ü-1!.png'.encode('cp437'), '表.png'.encode('shift_jis')):
                info = Raw('x'); info.raw = raw
                z.writestr(info, b'\\x89PNG\\r\\n\\x1a\\n')
        """, in: stack)
      let inspected = try await stack.pullbox("--json", "inspect", odd)
      let lines = inspected.output.split(separator: "\n")
      try #require(lines.count == 2, "\(inspected.output) \(inspected.errors)")
      #expect(lines[0].contains("\"pageCount\":2"))
      #expect(lines[1].contains("\"leftOut\":[]") && lines[1].contains("names are not in UTF-8"))
      let outcome = try await stack.pullbox(
        "publish", odd, "--product", "com.example.names", "--version", "1.0", "--release")
      #expect(outcome.succeeded, "\(outcome.errors)")
      #expect(try await manifest("com.example.names", at: stack).pageCount == 2)

      let out = try await archive(
        "out.cbz", "with zipfile.ZipFile(path, 'w') as z: z.writestr('../x.png', b'\\x89PNG\\r\\n\\x1a\\n')",
        in: stack)
      let refused = try await stack.pullbox(
        "publish", out, "--product", "com.example.out", "--version", "1.0")
      #expect(refused.ending != .exited(0) && refused.errors.contains("../x.png"))
      #expect(try await stack.operatorWeb.get("/v1/operator/products/com.example.out").status == 404)
    }
  }

  @Test("what is no publication is sent by the operator's word only, and nothing is done without it")
  func word() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let script = stack.directory.path("env.sh")
      try write(Array("#!/bin/sh\nexec env\n".utf8), to: script)
      let rar = stack.directory.path("issue.cbr")
      try write(Array("Rar!\u{1A}\u{7}\u{1}\0".utf8) + [1, 2, 3], to: rar)
      for (path, product, reason) in [
        (script, "com.example.script", "env.sh is a script"),
        (rar, "com.example.rar", "issue.cbr is a RAR archive"),
      ] {
        let words = ["publish", path, "--product", product, "--version", "1.0"]
        let refused = try await stack.pullbox(words)
        #expect(refused.ending == .exited(1))
        #expect(refused.errors.contains(reason) && refused.errors.contains("--as-file"), "\(refused.errors)")
        #expect(try await stack.operatorWeb.get("/v1/operator/products/\(product)").status == 404)
        let outcome = try await stack.pullbox(words + ["--as-file"])
        #expect(outcome.succeeded, "\(outcome.errors)")
      }
    }
  }
}
