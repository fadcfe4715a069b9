import CoreTypes
import Crypto
import Synchronization

/// The verified and written bytes of a package on its way, file by file, for those that read it beside the staging area's owner. The area
/// keeps it up to date; it outlives the area, and is empty while none is open.
///
/// It says where bytes lie that were right when they were written. They are compared again before they are sent, by ``StagedFile``.
package final class StagedExtents: Sendable {
  /// A place in a file that is being inflated: a hasher that has read all bytes before it.
  struct Mark: Sendable {
    var length: Int64
    var hasher: SHA256Hasher
  }

  /// How far a file has come.
  enum FileState: Sendable {
    /// Stored: the bytes that verified pieces have brought.
    case pieces
    /// Deflated: the bytes up to the last of these marks.
    case inflated([Mark])
    /// All of it, by its own digest.
    case whole
  }

  /// Bytes that a reader has found to be others than the manifest's.
  enum Damage: Hashable, Sendable {
    case piece(Int)
    case file(Int)
  }

  private struct State {
    var pieces: PieceMap
    /// For each file, whether all of it is there by its own digest.
    var whole: [Bool]
    var inflated: [Int: [Mark]] = [:]
    var damaged: Set<Damage> = []
    /// Pieces that were there, were found damaged, and have not come again.
    var lost: Set<Int> = []
    /// How often each piece was lost since ``StagedExtents/checkLosses()`` threw.
    var losses: [Int: Int] = [:]
    var observer: (@Sendable () -> Void)?
  }

  /// Bytes of an inflated file that lie between two marks, at least.
  private static let markDistance: Int64 = 256 << 10
  /// A file that is whole and no longer is compared by its own digest, which needs nothing else.
  static let wholeLength: Int64 = 4 << 20

  package let manifest: Manifest
  /// Where the bytes of each piece go.
  package let plan: UnpackPlan
  private let state: Mutex<State>

  /// Nothing is there yet.
  package init(_ manifest: Manifest) {
    self.manifest = manifest
    plan = UnpackPlan(manifest)
    state = Mutex(State(pieces: PieceMap(manifest), whole: manifest.files.map { _ in false }))
  }

  /// Has `observer` called after each change, on the thread that made it; in place of the one before.
  package func observe(_ observer: (@Sendable () -> Void)?) {
    state.locked { $0.observer = observer }
  }

  /// The pieces that are verified and written.
  package var pieces: PieceMap { state.locked { $0.pieces } }

  /// Where the run of verified bytes ends that begins at `offset` of that file; `offset` itself where its byte is not there, and at the
  /// file's end.
  package func end(of file: Int, from offset: Int64) -> Int64 {
    state.locked { Self.end(of: manifest.files[file], file, from: offset, plan, $0) }
  }

  /// The verified parts of each file, in the order of the manifest.
  package func ranges() -> [[Range<Int64>]] {
    let (pieces, whole, inflated) = state.locked { ($0.pieces, $0.whole, $0.inflated) }
    let known = State(pieces: pieces, whole: whole, inflated: inflated)
    return manifest.files.enumerated().map { index, file in
      var ranges: [Range<Int64>] = []
      var position: Int64 = 0
      while position < file.length.rawValue {
        let end = Self.end(of: file, index, from: position, plan, known)
        if end > position { ranges.append(position..<end) }
        position = max(end, Self.nextPiece(of: file, behind: position))
        guard file.method == .stored else { break }
      }
      return ranges
    }
  }

  /// Where the piece ends that holds the byte at `offset` of a stored file, counted in the file.
  private static func nextPiece(of file: ManifestFile, behind offset: Int64) -> Int64 {
    let length = PieceLayout.pieceLength.rawValue
    return ((file.offset.rawValue + offset) / length + 1) * length - file.offset.rawValue
  }

  private static func end(
    of file: ManifestFile, _ index: Int, from offset: Int64, _ plan: UnpackPlan, _ state: State
  ) -> Int64 {
    let length = file.length.rawValue
    guard (0..<length).contains(offset) else { return offset }
    if state.whole[index] { return length }
    guard file.method == .stored else {
      return max(offset, min(length, state.inflated[index]?.last?.length ?? 0))
    }
    var end = offset
    while end < length {
      let piece = Int((file.offset.rawValue + end) / PieceLayout.pieceLength.rawValue)
      guard state.pieces.isVerified(piece) else { break }
      end = min(length, nextPiece(of: file, behind: end))
    }
    return end
  }

  /// How far the file has come.
  func state(of file: Int) -> FileState {
    state.locked { state in
      let marks = state.inflated[file] ?? []
      if state.whole[file], marks.last?.length != manifest.files[file].length.rawValue {
        return .whole
      }
      return manifest.files[file].method == .stored ? .pieces : .inflated(marks)
    }
  }

  /// Whether every piece with a byte of the file is verified.
  func hasEveryPiece(of file: Int) -> Bool {
    state.locked { $0.pieces.areAllVerified(plan.pieces(of: file)) }
  }
}

/// For the area's owner.
extension StagedExtents {
  /// Takes the place of what was known; observers are told.
  func publish(_ pieces: PieceMap, whole: [Bool]) {
    change { state in
      state.pieces = pieces
      state.whole = whole
      // A file that was forgotten begins anew.
      state.inflated = state.inflated.filter { file, _ in
        whole[file]
          ? manifest.files[file].length.rawValue > Self.wholeLength
          : pieces.isVerified(plan.pieces(of: file).lowerBound)
      }
      for damage in state.damaged { remove(damage, from: &state) }
      if !state.lost.isEmpty { state.lost = state.lost.filter { !state.pieces.isVerified($0) } }
    }
  }

  /// A file is inflated up to there. Observers are told with the piece.
  func append(_ mark: Mark, of file: Int) {
    state.locked { state in
      var marks = state.inflated.removeValue(forKey: file) ?? []
      // What was inflated anew counts from there.
      while let last = marks.last, last.length >= mark.length { marks.removeLast() }
      if marks.count > 1, marks[marks.count - 1].length - marks[marks.count - 2].length < Self.markDistance {
        marks.removeLast()
      }
      marks.append(mark)
      state.inflated[file] = marks
    }
  }

  /// Nothing can be read: the area is closed.
  package func clear() {
    change { state in
      state.pieces = PieceMap(manifest)
      state.whole = manifest.files.map { _ in false }
      state.inflated = [:]
      state.damaged = []
    }
  }

  /// The bytes that readers have found damaged since the last call.
  func takeDamaged() -> Set<Damage> {
    state.locked { state in
      defer { state.damaged = [] }
      return state.damaged
    }
  }

  /// Bytes that were read are not the manifest's: no reader is given them, and the owner has them fetched again.
  func noteDamaged(_ damage: Damage) {
    change { state in
      state.damaged.insert(damage)
      // A piece is lost once, however many of its files are found damaged and by however many readers, until it has come again.
      for piece in pieces(of: damage) where !state.lost.contains(piece) {
        state.losses[piece, default: 0] += 1
      }
      remove(damage, from: &state)
    }
  }

  private func remove(_ damage: Damage, from state: inout State) {
    for piece in pieces(of: damage) {
      state.pieces.markMissing(piece)
      state.lost.insert(piece)
    }
    guard case .file(let file) = damage else { return }
    state.whole[file] = false
    state.inflated[file] = nil
  }

  private func pieces(of damage: Damage) -> Range<Int> {
    switch damage {
    case .piece(let piece): piece..<piece + 1
    case .file(let file): plan.pieces(of: file)
    }
  }

  /// Times that a piece may be lost before ``checkLosses()`` throws.
  package static let maximumLosses = 3

  /// Throws where a piece was lost ``maximumLosses`` times: a disk that does not keep what is written there would have it fetched without an
  /// end. It counts anew then, for another try is made after a pause.
  package func checkLosses() throws(UnkeptPieceError) {
    let unkept = state.locked { state -> Int? in
      guard let unkept = state.losses.first(where: { $0.value >= Self.maximumLosses })?.key else {
        return nil
      }
      state.losses = [:]
      return unkept
    }
    if let unkept { throw UnkeptPieceError(piece: unkept) }
  }

  /// The pieces that were there, were found damaged, and have not come again.
  package var lostPieces: Set<Int> { state.locked { $0.lost } }

  /// Whether a reader has found something damaged that the owner does not know of yet.
  package var isDamaged: Bool { state.locked { !$0.damaged.isEmpty } }

  private func change(_ body: (inout State) -> Void) {
    let observer = state.locked { state in
      body(&state)
      return state.observer
    }
    observer?()
  }
}

/// A piece was written again and again, and other bytes were read each time.
package struct UnkeptPieceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The piece's number in the package.
  package let piece: Int

  package var description: String {
    "piece \(piece) was written \(StagedExtents.maximumLosses) times, and other bytes were read each time"
  }
}
