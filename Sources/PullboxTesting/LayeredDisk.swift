public import CoreTypes
internal import Files
internal import Glibc
internal import SystemCalls

/// An overlay of a test's own, in memory: a layer that is only read, and one above it that takes what is written. It takes the
/// superuser to make one.
public final class LayeredDisk: Sendable {
  /// Whether one can be made: tests that need it are skipped where it cannot.
  public static let isAvailable = SmallDisk.isAvailable && (try? LayeredDisk(.mebibytes(1)).mount()) != nil

  /// The disk in memory that has all layers and the mount point.
  private let disk: SmallDisk

  /// With empty layers, not mounted yet.
  public init(_ size: ByteCount) throws {
    disk = try SmallDisk(size)
    for name in ["lower", "upper", "work", "merged"] { try FileSystem.createDirectory(disk.path(name)) }
  }

  deinit {
    _ = unsafe umount2(disk.path("merged"), Int32(MNT_DETACH))
  }

  /// Returns the path of a file in the layer below, which may be changed until ``mount()`` alone.
  public func lower(_ name: String) -> String { disk.path("lower/\(name)") }

  /// Returns the path of a file as the layers show it together.
  public func path(_ name: String) -> String { disk.path("merged/\(name)") }

  /// Puts the layers together. Throws `SystemError` where the system allows no such mount.
  public func mount() throws {
    let layers = ["lowerdir=lower", "upperdir=upper", "workdir=work"]
    let options = layers.map { layer in
      layer.replacing("=", with: "=\(disk.path(""))", maxReplacements: 1)
    }.joined(separator: ",")
    let point = disk.path("merged")
    try SystemCall.run("mount", subject: point) {
      unsafe Glibc.mount("overlay", point, "overlay", 0, options)
    }
  }
}
