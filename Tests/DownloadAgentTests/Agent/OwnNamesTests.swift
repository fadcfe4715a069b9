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
      """,
    interfaces: """
      00000000000000000000000000000001 01 80 10 80       lo
      20010db8000000000000000000000007 02 40 00 80     eth0
      fe80000000000000021122fffe334455 02 40 20 80     eth0
      """)

  @Test(
    "a server by this machine's own name or address needs no network",
    arguments: [
      "localhost", "a.localhost", "127.0.0.53", "::1", "BOX", "box.example.com", "192.0.2.7", "2001:db8::7",
      "2001:DB8:0:0::0007", "fe80::211:22ff:fe33:4455%25eth0", "::ffff:192.0.2.7", "::ffff:127.0.0.1",
    ])
  func own(_ host: String) {
    #expect(names.contains(host))
  }

  @Test(
    "another one needs it",
    arguments: [
      "server.example.com", "commented", "192.0.2.9", "192.0.2.0", "192.0.2.255", "example.com", "",
      "127.comics.example", "127.0.0.1.example", "2001:db8::8", "::ffff:192.0.2.9", "2001:db8::7::",
    ])
  func other(_ host: String) {
    #expect(!names.contains(host))
  }
}
