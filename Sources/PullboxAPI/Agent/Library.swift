public import Commerce
public import CoreTypes
public import Crypto

/// A placed content version.
public struct LibraryItem: Codable, Hashable, Sendable {
  /// Whether the files of an item can be used.
  public enum State: String, ListedWords, Sendable {
    /// The files are there, as they were when they were last compared with their manifest.
    case present
    /// The library's volume is not there, or the files are out of the readers' sight (``LibraryItem/withdrawn``).
    case offline
    /// Files are missing or differ from the manifest; a repair fetches them.
    case damaged

    /// Nothing says that the files can be used.
    public static var fallback: State? { .offline }
  }

  /// The product.
  public var product: ProductIdentifier
  /// The content version.
  public var version: ContentVersion
  /// The file or folder, absolute.
  public var path: String
  /// The digest of the package it came in.
  public var digest: SHA256Digest
  /// Bytes of the placed files together.
  public var length: ByteCount
  /// When it came to lie in the library.
  public var placedAt: Timestamp
  /// The title that the manifest gives; absent when it gives none.
  public var title: String?
  /// The delivery server's title of a product that arrived by itself, in the reader's language; absent for other
  /// products.
  public var productTitle: String?
  /// The absolute path of a small picture of what arrived by itself; absent where there is none.
  public var cover: String?
  /// Whether its files can be used; absent from agents that do not tell.
  public var state: State?
  /// Bytes that its files occupy on the volume, shared ones counted in full; absent where that is not known.
  public var lengthOnDisk: ByteCount?
  /// When an app last opened it; absent until one did.
  public var lastOpened: Timestamp?
  /// True when it is never removed to make room; absent is false.
  public var pinned: Bool?
  /// True where an earlier version of the product is read in its place, since the delivery server has taken this one back or the reader has
  /// left it; absent is false.
  public var rolledBack: Bool?
  /// True where the reader has left it for an earlier version, and the server has not taken it back; absent is false.
  public var left: Bool?
  /// True where its files were moved out of the tree that readers see, since the account owns it no more: nothing lies at ``path``, and
  /// ``state`` is ``State/offline``. Absent is false.
  public var withdrawn: Bool?

  /// Whether the account owns the product, as the delivery server told it last; absent while it has told nothing.
  public var owned: Bool?
  /// Why it is owned, or is not any more: a rule of docs/entitlements.md, such as `purchased` or `revoked`; absent where that is not
  /// known.
  public var because: String?
  /// When it is owned no more unless something is paid for again, or when that was; absent for what has no end.
  public var until: Timestamp?
  /// Since when the agent has known that it stands so.
  public var ownedAsOf: Timestamp?

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, version: ContentVersion, path: String, digest: SHA256Digest,
    length: ByteCount,
    placedAt: Timestamp, title: String? = nil, state: State? = nil, lengthOnDisk: ByteCount? = nil,
    lastOpened: Timestamp? = nil, pinned: Bool? = nil,
    rolledBack: Bool? = nil, productTitle: String? = nil, cover: String? = nil, owned: Bool? = nil,
    because: String? = nil, until: Timestamp? = nil, ownedAsOf: Timestamp? = nil, left: Bool? = nil,
    withdrawn: Bool? = nil
  ) {
    self.left = left
    self.withdrawn = withdrawn
    self.owned = owned
    self.because = because
    self.until = until
    self.ownedAsOf = ownedAsOf
    self.product = product
    self.version = version
    self.path = path
    self.digest = digest
    self.length = length
    self.placedAt = placedAt
    self.title = title
    self.state = state
    self.lengthOnDisk = lengthOnDisk
    self.lastOpened = lastOpened
    self.pinned = pinned
    self.rolledBack = rolledBack
    self.productTitle = productTitle
    self.cover = cover
  }
}

extension [LibraryItem] {
  /// The product's version that is read: the newest that the server has not taken back, and the newest of all where it has taken back
  /// every one. Nil where the library holds none.
  public func current(of product: ProductIdentifier) -> LibraryItem? {
    filter { $0.product == product }.max { left, right in
      let isBack = (left.rolledBack == true, right.rolledBack == true)
      return isBack.0 == isBack.1 ? left.version < right.version : isBack.0
    }
  }
}

/// `GET /v1/library` of the agent.
public struct LibraryResponse: Codable, Sendable {
  /// Everything that is placed.
  public var items: [LibraryItem]

  /// Creates the document from its members.
  public init(items: [LibraryItem]) {
    self.items = items
  }
}

/// The result of comparing one item's files with its manifest.
public struct LibraryVerification: Codable, Hashable, Sendable {
  /// One file that is not as the manifest says.
  public struct Fault: Codable, Hashable, Sendable {
    /// The kind of a fault.
    public enum Kind: String, ListedWords, Sendable {
      /// The manifest lists it and it is not there.
      case missing
      /// Its length or its SHA-256 differ.
      case damaged
      /// The manifest does not list it. It is left alone, and does not make an item damaged.
      case foreign

      /// The file is not as the manifest says.
      public static var fallback: Kind? { .damaged }
    }

    /// Where it lies, below the item's path.
    public var path: String
    /// The kind of the fault.
    public var kind: Kind

    /// Creates the document from its members.
    public init(path: String, kind: Kind) {
      self.path = path
      self.kind = kind
    }
  }

  /// The product.
  public var product: ProductIdentifier
  /// The content version.
  public var version: ContentVersion
  /// How the item stands now.
  public var state: LibraryItem.State
  /// Bytes that were read and hashed.
  public var bytesRead: ByteCount
  /// Every file that is not as the manifest says; empty when all are.
  public var faults: [Fault]

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, version: ContentVersion, state: LibraryItem.State, bytesRead: ByteCount,
    faults: [Fault]
  ) {
    self.product = product
    self.version = version
    self.state = state
    self.bytesRead = bytesRead
    self.faults = faults
  }
}

/// The answer to `POST /v1/library/{product}/verify` of the agent.
public struct LibraryVerificationResponse: Codable, Hashable, Sendable {
  /// One for each placed version of the product.
  public var items: [LibraryVerification]

  /// Creates the document from its members.
  public init(items: [LibraryVerification]) {
    self.items = items
  }
}

/// The answer to `POST /v1/library/{product}/repair` of the agent.
public struct LibraryRepairResponse: Codable, Sendable {
  /// The downloads that fetch what is missing or damaged; empty when nothing is to be fetched. A damaged version that a
  /// whole newer one replaces is removed instead.
  public var downloads: [DownloadStatus]

  /// Creates the document from its members.
  public init(downloads: [DownloadStatus]) {
    self.downloads = downloads
  }
}
