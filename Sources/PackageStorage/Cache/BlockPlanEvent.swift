package import Crypto

extension BlockPlan {
  /// Names one wait for pieces of a package.
  package struct ReaderIdentifier: Hashable, Sendable {
    /// The number, which no other wait of the cache has.
    package let rawValue: UInt64

    /// An identifier by its number.
    package init(rawValue: UInt64) {
      self.rawValue = rawValue
    }
  }

  /// Names one fetch of pieces of a package.
  package struct FetchIdentifier: Hashable, Sendable {
    /// The number, which no other fetch of the cache has.
    package let rawValue: UInt64
  }

  /// An event of a cache.
  package enum Event: Hashable, Sendable {
    /// The package may be asked for from now on; nothing of the map is on its way.
    case known(SHA256Digest, BlockMap)
    /// The package is not there any more, and not to be fetched.
    case forgotten(SHA256Digest)
    /// A package that was set aside is to be fetched again.
    case restored(SHA256Digest)
    /// A reader waits for these pieces, and will read on to `end`, the number of the piece behind its last one.
    case wanted(ReaderIdentifier, SHA256Digest, Range<Int>, end: Int)
    /// A reader waits no longer.
    case left(ReaderIdentifier)
    /// A reader has come to a block for which ``Action/mark(_:block:)`` was done.
    case reached(SHA256Digest, block: Int)
    /// A piece came, is the right one, and can be read.
    case verified(FetchIdentifier, piece: Int)
    /// Other bytes came for a piece.
    case mismatched(FetchIdentifier, piece: Int)
    /// All bytes that were asked for have come.
    case fetched(FetchIdentifier)
    /// Not all of them came, or not all could be written down.
    case failed(FetchIdentifier, PackageCacheError)
    /// A piece from before a crash was read and compared.
    case checked(SHA256Digest, piece: Int, isGood: Bool)
    /// The room of a block, which is evictable, is being given back.
    case evictionBegan(SHA256Digest, block: Int)
    /// The room of a block was given back, or its bytes at least are not read any more.
    case evictionEnded(SHA256Digest, block: Int)
    /// ``BlockPlan/patience`` has passed since ``Action/wait``.
    case waited
    /// Nothing is fetched any more.
    case ended
  }

  /// An action that the cache carries out.
  package enum Action: Hashable, Sendable {
    /// Fetch these pieces, which lie in one block, once the pause is over.
    case fetch(FetchIdentifier, SHA256Digest, Range<Int>, after: Duration)
    /// End a fetch; what it still brings is of no use.
    case cancel(FetchIdentifier)
    /// Read these pieces, which lie in one block, and compare each.
    case check(SHA256Digest, Range<Int>)
    /// Have ``Event/reached(_:block:)`` told as soon as a reader comes to the block.
    case mark(SHA256Digest, block: Int)
    /// Have ``Event/waited`` told once ``BlockPlan/patience`` has passed.
    case wait
    /// The pieces that a reader waits for are there.
    case release(ReaderIdentifier)
    /// They do not come.
    case fail(ReaderIdentifier, PackageCacheError)
    /// Tell the server that the package is missing or damaged.
    case setAside(SHA256Digest, PackageCacheError)
  }
}
