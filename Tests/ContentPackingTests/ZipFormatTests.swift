import CoreTypes
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("Archives past 32 bits")
struct ZipFormatTests {
  /// A first entry of 5 GiB, all hole, and a small one behind it.
  private func makeSparse() throws -> (Folder, entries: [ZipEntry]) {
    let folder = try Folder()
    let path = "\(folder.path)/sparse.zip"
    let huge = ZipEntry(
      name: Array("a.bin".utf8), method: .stored, checksum: 0, storedLength: 5 << 30, length: 5 << 30,
      headerOffset: 0)
    let small = ZipEntry(
      name: Array("b.txt".utf8), method: .stored, checksum: CRC32.of(Array("hello".utf8)),
      storedLength: 5, length: 5, headerOffset: huge.dataEnd)
    let central = huge.centralHeader + small.centralHeader
    let end = ZipEndOfCentralDirectory(
      entryCount: 2, centralOffset: small.dataEnd, centralLength: UInt64(central.count))
    let file = try FileDescriptor.open(path, .writeOnly, options: .create)
    let header = huge.localHeader
    try file.write(header.span, at: .zero)
    let tail = small.localHeader + Array("hello".utf8) + central + end.bytes
    try file.write(tail.span, at: ByteCount(small.headerOffset))
    return (folder, [huge, small])
  }

  @Test("an archive with lengths and offsets past 4 GiB opens in Python and in unzip")
  func sparse() throws {
    let (folder, _) = try makeSparse()
    let path = "\(folder.path)/sparse.zip"
    let program = """
      import sys, zipfile
      archive = zipfile.ZipFile(sys.argv[1])
      assert [i.file_size for i in archive.infolist()] == [5 << 30, 5]
      assert archive.read('b.txt') == b'hello'
      assert len(archive.open('a.bin').read(1000)) == 1000
      """
    let python = try Tool.run("python3", "-c", program, path)
    #expect(python.status == 0, "\(python.output)")
    let unzip = try Tool.run("unzip", "-p", path, "b.txt")
    #expect(unzip.output == "hello")
  }

  @Test("our own reader finds the same entries in it and nothing to object to")
  func read() throws {
    let (folder, entries) = try makeSparse()
    let file = try FileDescriptor.open("\(folder.path)/sparse.zip", .readOnly)
    let archive = try ArchiveInspection(file, length: try file.status().length, limits: .standard)
    #expect(archive.faults == [])
    #expect(archive.entries == entries)
  }

  @Test("65,535 entries need the 64-bit closing record, and Python counts them")
  func manyEntries() throws {
    let folder = try Folder()
    let path = "\(folder.path)/many.zip"
    var output: [UInt8] = []
    var central: [UInt8] = []
    for index in 0..<65_535 {
      let entry = ZipEntry(
        name: Array(String(100_000 + index).utf8), method: .stored, checksum: 0, storedLength: 0, length: 0,
        headerOffset: UInt64(output.count))
      output += entry.localHeader
      central += entry.centralHeader
    }
    let end = ZipEndOfCentralDirectory(
      entryCount: 65_535, centralOffset: UInt64(output.count), centralLength: UInt64(central.count))
    #expect(end.bytes.count == 22 + 56 + 20)
    output += central + end.bytes
    try folder.write(output, to: "many.zip")
    let program = "import sys, zipfile; assert len(zipfile.ZipFile(sys.argv[1]).namelist()) == 65535"
    #expect(try Tool.run("python3", "-c", program, path).status == 0)
    let file = try FileDescriptor.open(path, .readOnly)
    let archive = try ArchiveInspection(file, length: ByteCount(output.count), limits: .standard)
    #expect(archive.faults == [])
    #expect(archive.entries.count == 65_535)
  }

  @Test(
    "a header has the 64-bit field exactly when a length does not fit", arguments: [0xFFFF_FFFE, 0xFFFF_FFFF])
  func border(_ length: UInt64) throws {
    let entry = ZipEntry(
      name: [0x61], method: .stored, checksum: 0, storedLength: length, length: length, headerOffset: 0)
    let needs64 = length == 0xFFFF_FFFF
    #expect(entry.localHeader.count == 31 + (needs64 ? 20 : 0))
    #expect(entry.centralHeader.count == 47 + (needs64 ? 20 : 0))
    let record = try #require(ZipCentralDirectoryHeader(entry.centralHeader))
    #expect(record.entry == entry)
  }
}
