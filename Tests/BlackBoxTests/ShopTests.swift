import PullboxTesting
import SystemCalls
import Testing

@Suite("A reader buys with pullbox", .timeLimit(.minutes(10)))
struct ShopTests {
  @Test("without a terminal buy needs --yes, says what it costs, and charges nothing for what is owned")
  func buying() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      try await stack.publish(file, as: "com.example.file")

      let unasked = try await stack.pullbox("buy", "com.example.file")
      #expect(unasked.ending == .exited(2))
      #expect(unasked.errors.contains("--yes"))
      #expect(try await stack.unfinishedTransactions().isEmpty)

      let bought = try await stack.pullbox("buy", "com.example.file", "--yes", "--wait")
      #expect(bought.ending == .exited(0), "\(bought.errors)")
      #expect(bought.errors.contains("free (Sandbox)"))

      let again = try await stack.pullbox("buy", "com.example.file", "--yes")
      #expect(again.ending == .exited(0))
      #expect(again.output.contains("owned already"))
      #expect(try await stack.unfinishedTransactions().isEmpty)

      let shop = try await stack.pullbox("shop")
      #expect(shop.ending == .exited(0), "\(shop.errors)")
      #expect(shop.output.contains("com.example.file") && shop.output.contains("owned"))

      // What shells complete by.
      for (list, names) in [("sale", "com.example.file\n"), ("publications", "")] {
        let listed = try await stack.pullbox("complete", list)
        #expect(listed.output == names && listed.errors.isEmpty, "\(list)")
      }

      let unknown = try await stack.pullbox("buy", "com.example.none", "--yes")
      #expect(unknown.ending == .exited(1))
      #expect(unknown.errors.contains("not for sale"))
    }
  }

  @Test("what is exported and imported again changes nothing, and a faulty line keeps all from being taken")
  func files() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      try await stack.publish(file, as: "com.example.file")
      for name in ["catalog.csv", "catalog.json"] {
        let path = stack.directory.path(name)
        let exported = try await stack.pullbox("export", path)
        #expect(exported.ending == .exited(0), "\(exported.errors)")
        let imported = try await stack.pullbox("import", path)
        #expect(imported.output == "0 created, 0 changed, 1 unchanged\n", "\(imported.errors)")
      }
      let path = stack.directory.path("faulty.csv")
      let text = "id,title:en-US,price:FRA\ncom.example.new,New,2.99 EUR\ncom.example.other,,\nx y,X,\n"
      try DurableFile.write(Array(text.utf8).span, to: path)
      let unreadable = try await stack.pullbox("import", path)
      #expect(unreadable.ending == .exited(1))
      #expect(unreadable.errors.contains("line 4: id of a product cannot be 'x y'"))
      let none = try await stack.pullbox("product", "com.example.new")
      #expect(none.ending == .exited(1))
    }
  }
}
