import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("Ordinary tools open our packages")
struct OrdinaryToolsTests {
  private func makePackage() throws -> Folder {
    let folder = try Folder()
    for file in Sample.files { try folder.write(file.bytes, to: file.path) }
    _ = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package.zip"))
    return folder
  }

  @Test("unzip finds no error in it")
  func unzipTest() throws {
    let folder = try makePackage()
    let test = try Tool.run("unzip", "-t", folder.directory.path("package.zip"))
    #expect(test.status == 0, "\(test.output)")
    #expect(test.output.contains("No errors detected"))
  }

  @Test("Python reads back every file")
  func python() throws {
    let folder = try makePackage()
    let program = """
      import os, sys, zipfile
      archive = zipfile.ZipFile(sys.argv[1])
      assert archive.testzip() is None
      infos = archive.infolist()
      assert infos == sorted(infos, key=lambda info: (info.file_size < 65536, info.filename))
      for info in archive.infolist():
          assert archive.read(info) == open(os.path.join(sys.argv[2], info.filename), 'rb').read()
          assert info.date_time == (1980, 1, 1, 0, 0, 0)
          assert info.external_attr >> 16 == 0o100644
      """
    let run = try Tool.run("python3", "-c", program, folder.directory.path("package.zip"), folder.path)
    #expect(run.status == 0, "\(run.output)")
  }

  @Test("libarchive lists every file, with room between the entries too")
  func libarchive() throws {
    let folder = try makePackage()
    try folder.write(noise(1_310_000, seed: 77), to: "002.jpg")
    let path = folder.directory.path("package.zip")
    let first = try Sample.builder.pack(folder: folder.path, to: path).manifest
    try folder.write(noise(100_000, seed: 78), to: "002.jpg")
    let next = folder.directory.path("next.zip")
    let manifest = try Sample.builder.pack(folder: folder.path, to: next, following: first).manifest
    for (path, manifest) in [(path, first), (next, manifest)] {
      let file = try FileDescriptor.open(path, .readOnly)
      guard var archive = try ArchiveReader(file) else {
        Issue.record("\(path) is no archive to it")
        continue
      }
      var names: [String] = []
      while case .entry(let name, _) = archive.next() { names.append(String(decoding: name, as: UTF8.self)) }
      let expected = manifest.files.sorted { $0.offset < $1.offset }.map(\.path.text)
      #expect(names == expected)
    }
  }

  @Test("what unzip extracts is the folder that was packed")
  func extract() throws {
    let folder = try makePackage()
    let target = folder.directory.path("out")
    #expect(try Tool.run("unzip", "-q", folder.directory.path("package.zip"), "-d", target).status == 0)
    let diff = try Tool.run("diff", "-r", folder.path, target)
    #expect(diff.status == 0, "\(diff.output)")
  }
}
