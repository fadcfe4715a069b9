import Testing

@testable import DownloadAgent

@Suite struct OwnNamesTests {
  private let names = OwnNames(
    hostName: "Box",
    hosts: """
      127.0.0.1 localhost
      127.0.1.1\tbox.example.com box # this one
      # 127.0.0.2 commented
      192.0.2.9 server.example.com
      """,
    routes: """
      Local:
        +-- 192.0.2.0/24 2 0 2
           |-- 192.0.2.0
              /32 link UNICAST
           |-- 192.0.2.7
              /32 host LOCAL
           |-- 192.0.2.255
              /32 link BROADCAST
      """)

  @Test(
    "a server by this machine's own name or address needs no network",
    arguments: ["localhost", "a.localhost", "127.0.0.53", "::1", "BOX", "box.example.com", "192.0.2.7"])
  func own(_ host: String) {
    #expect(names.contains(host))
  }

  @Test(
    "another one needs it",
    arguments: [
      "server.example.com", "commented", "192.0.2.9", "192.0.2.0", "192.0.2.255", "example.com", "",
      "127.comics.example", "127.0.0.1.example",
    ])
  func other(_ host: String) {
    #expect(!names.contains(host))
  }
}
