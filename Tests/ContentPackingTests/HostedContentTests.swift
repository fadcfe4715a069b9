import Commerce
import CoreTypes
import Foundation
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("The hosted-content layout")
struct HostedContentTests {
  private static var members: [String: Any] {
    [
      "ContentVersion": "1.10", "IAPProductIdentifier": "com.example.heroes.issue42",
      "Other": ["nested": [1, 2]],
      "Flag": true, "Number": 7,
    ]
  }

  private func folder(_ plist: [UInt8]) throws -> Folder {
    let folder = try Folder()
    try folder.write(plist, to: "ContentInfo.plist")
    try folder.write("page", to: "Contents/pages/1.jpg")
    try folder.write("page", to: "Contents/2.jpg")
    return folder
  }

  private func plist(_ members: [String: Any], _ format: PropertyListSerialization.PropertyListFormat) throws
    -> [UInt8]
  {
    Array(try PropertyListSerialization.data(fromPropertyList: members, format: format, options: 0))
  }

  @Test(
    "version and product are read from either form, and only Contents is packed",
    arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func honoured(_ format: PropertyListSerialization.PropertyListFormat) throws {
    let folder = try folder(try plist(Self.members, format))
    try folder.write("x", to: "beside.txt")
    try folder.write("{}", to: "product.json5")
    let source = try SourceFolder(scanning: folder.path)
    #expect(source.faults == [])
    #expect(source.hostedContent?.version.description == "1.10")
    #expect(source.hostedContent?.product.description == "com.example.heroes.issue42")
    let packed = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package"))
    #expect(packed.manifest.files.map(\.path.text) == ["2.jpg", "pages/1.jpg"])
    #expect(
      packed.skipped == [
        SkippedSource(path: "ContentInfo.plist", reason: .contentInfo),
        SkippedSource(path: "beside.txt", reason: .outsideContents),
        SkippedSource(path: "product.json5", reason: .productDescription),
      ])
  }

  @Test("the bytes are those of the folder Contents packed by itself")
  func sameBytes() throws {
    let folder = try folder(try plist(Self.members, .xml))
    let hosted = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("one")).manifest
    let plain = try Sample.builder.pack(
      folder: folder.path + "/Contents", to: folder.directory.path("two")
    ).manifest
    #expect(hosted == plain)
  }

  @Test("the property list that Xcode's template writes is read")
  func template() throws {
    let document = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      \t<key>ContentVersion</key>
      \t<string>1.0</string>
      \t<key>IAPProductIdentifier</key>
      \t<string>com.example.issue</string>
      </dict>
      </plist>
      """
    let info = try HostedContentInfo(Array(document.utf8))
    #expect(info.version.description == "1.0" && info.product.description == "com.example.issue")
  }

  @Test("a nested dictionary's members are not the list's own")
  func nested() throws {
    let members: [String: Any] = ["Inner": Self.members]
    for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
      let bytes = try plist(members, format)
      #expect(throws: PackageValidationError.self) { try HostedContentInfo(bytes) }
    }
  }

  @Test("everything that is wrong is listed: members, the folder, and what is in it")
  func everyFault() throws {
    let folder = try Folder()
    try folder.write(
      try plist(["ContentVersion": 1.5, "IAPProductIdentifier": "no id!"], .xml), to: "ContentInfo.plist")
    var source = try SourceFolder(scanning: folder.path)
    #expect(source.faults.map(\.code) == [.contentInfoInvalid, .contentInfoInvalid, .contentInfoInvalid])
    #expect(source.faults.map(\.path) == ["ContentInfo.plist", "ContentInfo.plist", "Contents"])
    try folder.write([0x7F, 0x45, 0x4C, 0x46], to: "Contents/program")
    try folder.link("Contents/link", to: "/etc")
    source = try SourceFolder(scanning: folder.path)
    #expect(
      source.faults.map(\.code) == [.contentInfoInvalid, .contentInfoInvalid, .symbolicLink, .executable])
    #expect(
      try refusalCodes {
        _ = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package"))
      } == source.faults.map(\.code))
  }

  @Test("what is no property list, or too long, is a fault", arguments: [[], [0x62], Array("<plist/>".utf8)])
  func noList(_ bytes: [UInt8]) throws {
    #expect(throws: PackageValidationError.self) { try HostedContentInfo(bytes) }
    #expect(throws: PackageValidationError.self) {
      try HostedContentInfo(Array("<plist><dict/></plist>".utf8) + [UInt8](repeating: 0x20, count: 65_536))
    }
  }

  @Test("a changed byte, or a cut, of a binary list never harms")
  func mutated() throws {
    let good = try plist(Self.members, .binary)
    for index in good.indices {
      _ = PropertyList.texts(in: Array(good[..<index]))
      for value in [0, 1, 0x0F, 0x7F, 0x80, 0xDF, 0xFF] as [UInt8] {
        var bytes = good
        bytes[index] = value
        _ = PropertyList.texts(in: bytes)
      }
    }
  }
}
