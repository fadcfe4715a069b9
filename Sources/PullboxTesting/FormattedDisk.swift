public import CoreTypes
internal import Files
internal import Glibc
internal import SystemCalls

/// A file system of another kind, in a file that a loop device serves, mounted for a test where this process may.
public final class FormattedDisk: Sendable {
  /// A kind of file system, with the driver that serves it.
  public enum Kind: String, CaseIterable, Sendable, CustomStringConvertible {
    /// No hard links, no permissions, no flags of a rename, no allocation, names without `:` and `?`: by exfat-fuse.
    case exFAT
    /// By the kernel, so that it can be made to fail: ``break()``.
    case ext4

    /// The name, for the titles of tests.
    public var description: String { rawValue }

    /// The path of the program that makes the file system.
    var formatter: String {
      switch self {
      case .exFAT: "/usr/sbin/mkfs.exfat"
      case .ext4: "/usr/sbin/mkfs.ext4"
      }
    }

    /// The program that serves it; nil for the kernel.
    var server: String? {
      switch self {
      case .exFAT: "/usr/sbin/mount.exfat-fuse"
      case .ext4: nil
      }
    }

    /// Whether one can be mounted here: tests that need it are skipped where it cannot.
    public var isAvailable: Bool {
      guard geteuid() == 0, SmallDisk.isAvailable else { return false }
      let needed = [formatter, FormattedDisk.losetup, server, server == nil ? nil : "/dev/fuse"]
      return needed.compactMap { $0 }.allSatisfy { (try? FileSystem.status(of: $0)).flatMap { $0 } != nil }
    }
  }

  /// Where it is mounted; it goes with this object.
  public let mountPoint: String
  /// The directory of the image and of the outputs of programs; removed with the last owner.
  private let directory: TemporaryDirectory
  /// The kind that was made.
  private let kind: Kind
  /// The path of the loop device, such as `/dev/loop3`.
  private let device: String

  /// The path of losetup(8).
  static let losetup = "/usr/sbin/losetup"
  /// The path of chattr(1), which sets the immutable flag.
  private static let chattr = "/usr/bin/chattr"
  /// `EXT4_IOC_SHUTDOWN` and `LOOP_CLR_FD`.
  private static let (shutDown, loopClear): (UInt, UInt) = (0x8004_587D, 0x4C01)
  /// Where the kernel shows its ext4 file systems.
  private static let kernelDirectory = "/sys/fs/ext4"

  /// Makes it, and mounts it at `name` in the directory, or in one of its own. Throws where a program fails, or the system
  /// allows no mount.
  public init(
    _ kind: Kind, _ size: ByteCount = .mebibytes(64), in directory: TemporaryDirectory? = nil,
    as name: String = "disk"
  ) async throws {
    self.kind = kind
    let directory = try directory ?? TemporaryDirectory()
    self.directory = directory
    mountPoint = directory.path(name)
    let image = directory.path("image")
    try FileSystem.createDirectory(mountPoint)
    try FileDescriptor.open(image, .writeOnly, options: .create).truncate(to: size)
    try await Self.run(kind.formatter, [image], in: directory)
    let answer = try await Self.run(Self.losetup, ["--find", "--show", image], in: directory)
    device = String(answer.prefix { $0 != "\n" })
    try await mount()
  }

  deinit {
    _ = unsafe umount2(mountPoint, Int32(MNT_DETACH))
    // The last use of the device ends with the mount.
    if let file = try? FileDescriptor.open(device, .readOnly) {
      _ = ioctl(file.number, Self.loopClear)
    }
  }

  /// Returns the path of a file on it.
  public func path(_ name: String) -> String { "\(mountPoint)/\(name)" }

  /// From now on it takes no byte and no name any more, as when its cable was pulled; what was not synced is lost. For ext4.
  public func `break`() throws {
    let root = try FileDescriptor.open(mountPoint, .readOnly, options: .directory)
    // Without writing the journal.
    var flags: UInt32 = 2
    try SystemCall.run("ioctl", subject: mountPoint) { unsafe ioctl(root.number, Self.shutDown, &flags) }
  }

  /// Whether ``failToReadOnly()`` can be asked for here.
  public static var canFailToReadOnly: Bool {
    guard Kind.ext4.isAvailable else { return false }
    return (try? FileSystem.mayUse(kernelDirectory, isWriting: true)) ?? false
  }

  /// The kernel finds an error of the file system, and from then on takes no write, also to what is open (`errors=remount-ro`, as on
  /// Debian's disks). What was synced is read as before. ``remount()`` makes it good again. For ext4.
  public func failToReadOnly() throws {
    let point = mountPoint
    try SystemCall.run("mount", subject: point) {
      unsafe Glibc.mount(nil, point, nil, UInt(MS_REMOUNT), "errors=remount-ro")
    }
    let trigger = "\(Self.kernelDirectory)/\(FileSystem.lastPart(of: device))/trigger_fs_error"
    try FileDescriptor.open(trigger, .writeOnly).write(Array("1".utf8).span)
  }

  /// Whether these files and directories may be written; also what is open of them takes no byte meanwhile. For ext4.
  public func setWritable(_ isWritable: Bool, _ names: [String]) async throws {
    try await Self.run(Self.chattr, [isWritable ? "-i" : "+i"] + names.map(path), in: directory)
  }

  /// Takes it away, and mounts it again, once what is open on it is closed: a program lets go of its files a moment after its
  /// work has ended.
  public func remount() async throws {
    while true {
      do {
        try SystemCall.run("umount", subject: mountPoint) { unsafe umount2(mountPoint, 0) }
        break
      } catch {
        guard error.number == EBUSY else { throw error }
        await Task.yield()
      }
    }
    try await mount()
  }

  /// Mounts the device at ``mountPoint``: by its own program, or by mount(2).
  private func mount() async throws {
    if let server = kind.server {
      try await Self.run(server, [device, mountPoint], in: directory)
      return
    }
    let (device, point) = (device, mountPoint)
    try SystemCall.run("mount", subject: point) {
      unsafe Glibc.mount(device, point, kind.rawValue, 0, nil)
    }
  }

  /// Runs the program and returns its output; throws where it fails. Both streams of the program go to a file in the
  /// directory. A status other than 0 is an error with that text.
  @discardableResult
  private static func run(
    _ program: String, _ arguments: [String], in directory: TemporaryDirectory
  ) async throws -> String {
    let output = directory.path("output-\(UInt64.random(in: .min ... .max))")
    let process = try ChildProcess(
      program, arguments, environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], output: output)
    let ending = await process.ending()
    let text = String(decoding: try FileSystem.read(output, upTo: .mebibytes(1)), as: UTF8.self)
    guard ending == .exited(0) else { throw Failure(description: "\(program) ended \(ending): \(text)") }
    return text
  }

  /// A program that failed.
  private struct Failure: Error, CustomStringConvertible {
    /// The program, how it ended, and what it printed.
    let description: String
  }
}
