import CoreTypes

/// Says where the bytes of each piece go. Pure: it knows the manifest and nothing of disks.
public struct UnpackPlan: Sendable {
  /// A slice of a piece that belongs to one file.
  public struct Write: Hashable, Sendable {
    /// Index into the manifest's files.
    public let file: Int
    /// Where in the file's stored bytes the slice goes.
    public let offset: Int64
    /// Which bytes of the piece it is.
    public let slice: Range<Int>
  }

  /// A slice of a piece that belongs to no file: headers, padding, the archive's directory.
  public struct Gap: Hashable, Sendable {
    /// Where the slice begins among all bytes of the package that belong to no file.
    public let offset: Int64
    /// Which bytes of the piece it is.
    public let slice: Range<Int>
  }

  /// A slice of a piece, whether it belongs to a file or not.
  enum Slice: Hashable, Sendable {
    case file(Write)
    case gap(Gap)
  }

  private let layout: PieceLayout
  private let ranges: [Range<Int64>]
  private let isDeflated: [Bool]
  /// The files that take bytes in the package, by where they do.
  private let order: [Int]
  /// How many bytes the first files of ``order`` take together: none, the first, the first two, and so on.
  private let takenBefore: [Int64]

  /// Plans the unpacking of a package; it depends on the manifest alone.
  public init(_ manifest: Manifest) {
    layout = manifest.layout
    let ranges = manifest.files.map(\.storedRange)
    self.ranges = ranges
    isDeflated = manifest.files.map { $0.method == .deflated }
    order = ranges.indices.filter { !ranges[$0].isEmpty }
      .sorted { ranges[$0].lowerBound < ranges[$1].lowerBound }
    takenBefore = order.reduce(into: [0]) { sums, file in
      sums.append((sums.last ?? 0) + Int64(ranges[file].count))
    }
  }

  /// The bytes of `piece` that are no file's, in the order of the bytes.
  public func gaps(in piece: Int) -> [Gap] {
    let bytes = layout.range(of: piece)
    let files = files(holding: bytes)
    var gaps: [Gap] = []
    var position = bytes.lowerBound
    for place in files.startIndex...files.endIndex {
      let isLast = place == files.endIndex
      let end = isLast ? bytes.upperBound : ranges[order[place]].lowerBound
      if position < end {
        gaps.append(
          Gap(
            offset: position - takenBefore[place],
            slice: Int(position - bytes.lowerBound)..<Int(end - bytes.lowerBound)))
      }
      if !isLast { position = ranges[order[place]].upperBound }
    }
    return gaps
  }

  /// Returns the writes that bring the bytes of `piece` into files, in the order of the bytes. Bytes between
  /// the files (headers, the archive's directory) go into none.
  public func writes(for piece: Int) -> [Write] {
    let bytes = layout.range(of: piece)
    return files(holding: bytes).map { file in
      let part = ranges[file].clamped(to: bytes)
      return Write(
        file: file, offset: part.lowerBound - ranges[file].lowerBound,
        slice: Int(part.lowerBound - bytes.lowerBound)..<Int(part.upperBound - bytes.lowerBound))
    }
  }

  /// All bytes of the piece, slice by slice.
  func slices(of piece: Int) -> [Slice] {
    var gaps = gaps(in: piece)[...]
    var slices: [Slice] = []
    for write in writes(for: piece) {
      while let gap = gaps.first, gap.slice.lowerBound < write.slice.lowerBound {
        slices.append(.gap(gaps.removeFirst()))
      }
      slices.append(.file(write))
    }
    return slices + gaps.map { .gap($0) }
  }

  /// The pieces that hold bytes of `file`; none for a file that takes none.
  public func pieces(of file: Int) -> Range<Int> {
    layout.pieces(holding: ranges[file])
  }

  /// The pieces that are needed for those bytes of `file` itself: of a deflated one all, since it is inflated from its beginning.
  package func pieces(of file: Int, holding bytes: Range<Int64>) -> Range<Int> {
    guard !isDeflated[file] else { return pieces(of: file) }
    let stored = ranges[file]
    let part = stored.lowerBound + bytes.lowerBound..<stored.lowerBound + bytes.upperBound
    return layout.pieces(holding: part.clamped(to: stored))
  }

  /// The pieces that bring what follows the byte at `offset` of `file`.
  package func pieces(of file: Int, from offset: Int64) -> Range<Int> {
    pieces(of: file, holding: offset..<max(offset, Int64(ranges[file].count)))
  }

  /// The files that have bytes in `pieces`, in the order of the package.
  public func files(in pieces: Range<Int>) -> [Int] {
    Array(files(holding: layout.range(of: pieces)))
  }

  /// The files of `piece` whose every other piece is verified in `map`: with `piece` they are whole.
  public func filesCompleted(by piece: Int, in map: PieceMap) -> [Int] {
    files(holding: layout.range(of: piece)).filter { file in
      pieces(of: file).allSatisfy { $0 == piece || map.isVerified($0) }
    }
  }

  private func files(holding bytes: Range<Int64>) -> ArraySlice<Int> {
    guard !bytes.isEmpty else { return [] }
    // The files do not overlap, so that what holds for one holds for all behind it.
    let first = order.partitioningIndex { ranges[$0].upperBound > bytes.lowerBound }
    let end = order.partitioningIndex { ranges[$0].lowerBound >= bytes.upperBound }
    return order[first..<max(first, end)]
  }
}
