// swift-tools-version: 6.2

import PackageDescription

// The floors of the house, from the cellar up; an arrow in `dependencies` only ever points down.
// docs/architecture.md draws the same picture.

// What `--version` says beside the version. The scripts give it; a build without it knows no commit.
let commit = Context.environment["PULLBOX_COMMIT"] ?? ""

// The one target of tests that there is, by `scripts/test --only`: a bundle of tests is all targets of the package, and who changes one
// feature need not wait for the tests of the others to compile.
let onlyTests = Context.environment["PULLBOX_ONLY_TESTS"]

// A sanitizer brings an allocator of its own, which frees nothing that jemalloc's operators for C++ have allocated.
let hasJemalloc = Context.environment["PULLBOX_SANITIZER"] == nil

let systemLibraries: [Target] = [
  .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
  .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
  .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
  .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
  .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
  .systemLibrary(name: "CTLS", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
  .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
  .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
  .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
  .target(name: "CLinux", cSettings: [.define("PULLBOX_COMMIT", to: "\"\(commit)\"")]),
  .target(name: "CJemalloc", linkerSettings: hasJemalloc ? [.linkedLibrary("jemalloc")] : []),
  .target(name: "CSQLiteLog", dependencies: ["CSQLite"]),
  // Finds libsystemd at run time: nothing links with it.
  .target(name: "CMessageBus"),
]

let groundwork: [Target] = [
  .target(name: "CoreTypes", dependencies: ["CLinux"]),
  .target(name: "SystemCalls", dependencies: ["CLinux", "CoreTypes"]),
  .target(name: "Files", dependencies: ["SystemCalls", "CLinux", "CoreTypes"]),
  .target(name: "Crypto", dependencies: ["COpenSSL", "CSodium", "CoreTypes"]),
]

let plumbing: [Target] = [
  .target(name: "HTTPParsing", dependencies: ["CLinux", "CoreTypes"]),
  .target(
    name: "HTTPServer", dependencies: ["HTTPParsing", "CLinux", "CTLS", "Files", "SystemCalls", "CoreTypes"]),
  .target(name: "HTTPClient", dependencies: ["CCurl", "CTLS", "CLinux", "SystemCalls", "CoreTypes"]),
  .target(name: "Database", dependencies: ["CSQLite", "CSQLiteLog", "Files", "SystemCalls", "CoreTypes"]),
  .target(
    name: "PostgreSQLEngine", dependencies: ["CPostgreSQL", "CLinux", "Database", "SystemCalls", "CoreTypes"]),
  .target(name: "BlobStore", dependencies: ["Files", "SystemCalls", "Crypto", "CoreTypes"]),
  .target(name: "ServiceRuntime", dependencies: ["CLinux", "Files", "SystemCalls", "CoreTypes"]),
  .target(
    name: "MessageBus",
    dependencies: ["CMessageBus", "CLinux", "SystemCalls", "CoreTypes"]),
  .target(name: "ObjectStore", dependencies: ["HTTPClient", "ServiceRuntime", "Crypto", "CoreTypes"]),
]

let domain: [Target] = [
  .target(name: "Commerce", dependencies: ["CoreTypes"]),
  .target(name: "Entitlements", dependencies: ["Commerce", "CoreTypes"]),
  .target(
    name: "ContentPackage",
    dependencies: ["Commerce", "CLinux", "CZlib", "Crypto", "Files", "SystemCalls", "CoreTypes"]),
  .target(
    name: "ContentPacking",
    dependencies: [
      "ContentPackage", "Commerce", "CArchive", "CLinux", "Crypto", "Files", "SystemCalls", "CoreTypes",
    ]),
  .target(name: "Receipts", dependencies: ["Commerce", "COpenSSL", "Crypto", "CoreTypes"]),
]

let monitoring: [Target] = [
  .target(
    name: "Monitoring",
    dependencies: ["HTTPServer", "Database", "ServiceRuntime", "Files", "SystemCalls", "CoreTypes"])
]

let contract: [Target] = [
  // What everything speaks of, and what an agent answers to apps.
  .target(name: "PullboxAPI", dependencies: ["Commerce", "Crypto", "CoreTypes"]),
  // What a delivery server answers to devices and operators, and a payment store to agents and apps.
  .target(
    name: "ServiceAPI",
    dependencies: [
      "PullboxAPI", "Entitlements", "Commerce", "ContentPackage", "Receipts", "Crypto", "CoreTypes",
    ]),
  // Documents of the catalog for readers' applications, which server and agent write.
  .target(
    name: "CatalogDocuments",
    dependencies: ["ServiceAPI", "PullboxAPI", "Commerce", "ContentPackage", "Crypto", "CoreTypes"]),
  .target(
    name: "CatalogFiles",
    dependencies: ["ServiceAPI", "PullboxAPI", "Commerce", "ServiceRuntime", "CoreTypes"]),
  .target(
    name: "PullboxAPIServer",
    dependencies: ["HTTPParsing", "ServiceAPI", "PullboxAPI", "HTTPServer", "CZlib", "Crypto", "CoreTypes"]),
  .target(
    name: "PullboxAPIClient", dependencies: ["PullboxAPI", "HTTPClient", "CoreTypes"]),
]

// The rooms of the delivery server, each over those above it.
let delivery: [Target] = [
  .target(
    name: "ContentDelivery",
    dependencies: [
      "HTTPParsing", "ServiceAPI", "PullboxAPI", "PullboxAPIServer", "Commerce", "ContentPackage",
      "HTTPServer",
      "Monitoring",
      "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "PackageStorage",
    dependencies: [
      "ContentPackage", "ObjectStore", "BlobStore", "HTTPClient", "Files", "SystemCalls", "Crypto",
      "CoreTypes",
    ]),
  .target(
    name: "DeliveryModel", dependencies: ["ServiceAPI", "PullboxAPI", "Commerce", "Crypto", "CoreTypes"]),
  .target(
    name: "DeliverySchema",
    dependencies: ["ServiceAPI", "PullboxAPI", "Commerce", "Database", "PostgreSQLEngine"]),
  .target(
    name: "DeliveryRecords",
    dependencies: [
      "DeliverySchema", "DeliveryModel", "ServiceAPI", "PullboxAPI", "Entitlements", "Commerce",
      "ContentPackage",
      "Receipts", "Database",
      "PostgreSQLEngine",
      "ServiceRuntime", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "RecordTransfer",
    dependencies: ["DeliverySchema", "DeliveryRecords", "Database", "PostgreSQLEngine", "CoreTypes"]),
  .target(
    name: "PaymentStores",
    dependencies: [
      "ServiceAPI", "PullboxAPI", "PullboxAPIClient", "Commerce", "Receipts", "HTTPClient", "Monitoring",
      "ServiceRuntime", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "RouteAccess",
    dependencies: [
      "HTTPParsing", "ContentDelivery", "DeliveryModel", "DeliveryRecords", "ServiceAPI", "PullboxAPI",
      "PullboxAPIServer",
      "Commerce",
      "HTTPServer",
      "Database",
      "Monitoring", "ServiceRuntime", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "ContentCatalog",
    dependencies: [
      "RouteAccess", "ContentDelivery", "DeliveryModel", "DeliveryRecords", "ServiceAPI", "PullboxAPI",
      "PullboxAPIServer",
      "Entitlements", "Commerce",
      "ContentPackage", "HTTPServer", "Database", "Monitoring", "ServiceRuntime", "SystemCalls", "Crypto",
      "CoreTypes",
    ]),
  .target(
    name: "ContentPublishing",
    dependencies: [
      "HTTPParsing", "CatalogDocuments", "ContentCatalog", "RouteAccess", "ContentDelivery", "PackageStorage",
      "DeliveryModel", "DeliveryRecords", "ServiceAPI", "PullboxAPI",
      "PullboxAPIServer", "Entitlements", "Commerce", "ContentPackage", "ContentPacking", "HTTPServer",
      "Database",
      "BlobStore", "Monitoring", "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "CatalogFeeds",
    dependencies: [
      "HTTPParsing", "CatalogDocuments", "ContentGrants", "ContentCatalog", "RouteAccess", "ContentDelivery",
      "PackageStorage",
      "DeliveryModel", "DeliveryRecords", "ServiceAPI", "PullboxAPI", "PullboxAPIServer", "Entitlements",
      "Commerce",
      "ContentPackage",
      "ContentPacking",
      "HTTPServer", "Database", "ServiceRuntime", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "ContentGrants",
    dependencies: [
      "HTTPParsing", "ContentCatalog", "RouteAccess", "ContentDelivery", "PaymentStores", "DeliveryModel",
      "DeliveryRecords", "ServiceAPI", "PullboxAPI",
      "PullboxAPIServer", "Entitlements", "Commerce", "ContentPackage", "Receipts", "HTTPServer", "Database",
      "Monitoring",
      "ServiceRuntime", "SystemCalls", "Crypto", "CoreTypes",
    ]),
]

// The rooms of the agent.
let agent: [Target] = [
  .target(
    name: "AgentRecords",
    dependencies: [
      "ServiceAPI", "PullboxAPI", "PullboxAPIClient", "Entitlements", "Commerce", "ContentPackage",
      "Receipts", "HTTPClient",
      "Database",
      "ServiceRuntime", "Files", "SystemCalls", "Crypto",
      "CoreTypes",
    ]),
  .target(
    name: "ContentLibrary",
    dependencies: [
      "AgentRecords", "ServiceAPI", "PullboxAPI", "PullboxAPIClient", "Commerce", "ContentPackage",
      "HTTPClient",
      "Database", "ServiceRuntime", "Files", "SystemCalls", "Crypto",
      "CoreTypes",
    ]),
  .target(
    name: "MachineConditionSources",
    dependencies: ["AgentRecords", "MessageBus", "ServiceRuntime", "Files", "SystemCalls", "CoreTypes"]),
  .target(
    name: "LibraryCatalog",
    dependencies: [
      "ContentLibrary", "AgentRecords", "CatalogDocuments", "PullboxAPI", "PullboxAPIServer", "Commerce",
      "ContentPackage", "HTTPParsing", "HTTPServer", "ServiceRuntime", "Files", "SystemCalls", "Crypto",
      "CoreTypes",
    ]),
]

// What the sandbox store keeps, and the rules over it.
let sandbox: [Target] = [
  .target(
    name: "SandboxRecords",
    dependencies: [
      "ServiceAPI", "PullboxAPI", "PullboxAPIClient", "Commerce", "Receipts", "HTTPClient", "Database",
      "ServiceRuntime",
      "Files", "SystemCalls", "Crypto", "CoreTypes",
    ])
]

// The operators' pages, over the delivery server's own interface.
let console: [Target] = [
  .target(
    name: "OperatorConsole",
    dependencies: [
      "HTTPParsing", "RouteAccess", "ContentDelivery", "DeliveryRecords", "CatalogFiles", "ServiceAPI",
      "PullboxAPI",
      "PullboxAPIServer", "Entitlements", "Commerce", "HTTPServer", "Database", "ServiceRuntime", "Crypto",
      "CoreTypes",
    ])
]

let services: [Target] = [
  .target(
    name: "DeliveryService",
    dependencies: [
      "OperatorConsole", "DeliverySchema", "DeliveryModel", "HTTPParsing", "CatalogFeeds", "ContentGrants",
      "ContentPublishing", "ContentCatalog", "RouteAccess", "ContentDelivery",
      "PackageStorage", "PaymentStores", "RecordTransfer", "DeliveryRecords", "ServiceAPI", "PullboxAPI",
      "PullboxAPIServer", "PullboxAPIClient", "Entitlements", "Commerce",
      "ContentPackage", "ContentPacking",
      "Receipts", "HTTPServer", "HTTPClient", "Database", "PostgreSQLEngine", "ObjectStore", "BlobStore",
      "Monitoring", "ServiceRuntime",
      "Files", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "DownloadAgent",
    dependencies: [
      "HTTPParsing", "MachineConditionSources", "LibraryCatalog", "ContentLibrary", "AgentRecords",
      "ServiceAPI", "PullboxAPI", "PullboxAPIServer",
      "PullboxAPIClient",
      "Entitlements", "Commerce",
      "ContentPackage", "Receipts",
      "HTTPServer",
      "HTTPClient", "Database", "MessageBus", "Monitoring", "ServiceRuntime", "Files", "SystemCalls",
      "Crypto",
      "CoreTypes",
    ]),
  .target(
    name: "SandboxStore",
    dependencies: [
      "SandboxRecords", "ServiceAPI", "PullboxAPI", "PullboxAPIServer", "Commerce", "Receipts", "HTTPServer",
      "HTTPClient",
      "Database", "Monitoring", "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "PullboxKit",
    dependencies: [
      "PullboxAPI", "PullboxAPIClient", "Commerce", "HTTPClient", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "PullboxOperatorKit",
    dependencies: [
      "CatalogFiles", "ServiceAPI", "PullboxAPI", "PullboxAPIClient", "Commerce", "ContentPackage",
      "HTTPClient", "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes",
    ]),
  .target(
    name: "DesktopService",
    dependencies: ["MessageBus", "ServiceRuntime", "Files", "SystemCalls", "CoreTypes"]),
  .target(
    name: "PullboxDoctor",
    dependencies: [
      "PullboxKit", "ServiceAPI", "PullboxAPI", "PullboxAPIClient", "HTTPClient", "ServiceRuntime",
      "Files", "SystemCalls", "Crypto",
      "CoreTypes",
    ]),
]

let executables: [Target] = [
  .executableTarget(
    name: "pullbox-server",
    dependencies: ["DeliveryService", "ServiceRuntime", "Files", "SystemCalls", "CJemalloc"]),
  .executableTarget(name: "pullbox-agent", dependencies: ["DownloadAgent", "ServiceRuntime"]),
  .executableTarget(name: "pullbox-sandbox", dependencies: ["SandboxStore", "ServiceRuntime"]),
  .executableTarget(
    name: "pullbox-desktop", dependencies: ["DesktopService", "ServiceRuntime", "SystemCalls"]),
  .executableTarget(
    name: "pullbox",
    dependencies: [
      "CQREncode", "PullboxDoctor", "PullboxOperatorKit", "PullboxKit", "CatalogFiles", "ServiceAPI",
      "PullboxAPI", "PullboxAPIClient",
      "Entitlements", "Commerce", "ContentPackage", "ContentPacking", "HTTPClient", "ServiceRuntime",
      "Files", "SystemCalls", "Crypto",
      "CoreTypes",
    ]),
]

// Built with everything else, so that what apps are shown keeps compiling. They import PullboxKit alone; what it exports stands here as
// well, since swift build compiles a target again for changes of the modules that it names, and for no others.
let exportedByPullboxKit: [Target.Dependency] = [
  "Commerce", "CoreTypes", "Crypto", "HTTPClient", "PullboxAPI", "PullboxAPIClient",
]

let examples: [Target] = [
  .executableTarget(
    name: "Reader", dependencies: ["PullboxKit"] + exportedByPullboxKit, path: "Examples/Reader"),
  .executableTarget(
    name: "OneScreen", dependencies: ["PullboxKit"] + exportedByPullboxKit, path: "Examples/OneScreen"),
]

// What is measured without a process around it; the others start the executables.
let benchmarks: [Target] = [
  .executableTarget(
    name: "ReceiptsBenchmark", dependencies: ["Receipts", "Commerce", "CoreTypes", "CJemalloc"],
    path: "Benchmarks/Receipts"),
  .executableTarget(
    name: "CommerceBenchmark", dependencies: ["Entitlements", "Commerce", "CoreTypes", "CJemalloc"],
    path: "Benchmarks/Commerce"),
]

// What the tests of several targets share. It is built without tests as well, and so without `@testable`.
let testSupport: [Target] = [
  .target(
    name: "PullboxTesting",
    dependencies: ["CLinux", "CTLS", "CoreTypes", "Files", "SystemCalls", "ServiceRuntime"]),
  .target(
    name: "PackageTesting",
    dependencies: [
      "ContentPackage", "ContentPacking", "Commerce", "Crypto", "CoreTypes", "Files", "SystemCalls",
      "PullboxTesting",
    ]),
  // For the tests of apps, a product of this package.
  .target(
    name: "PullboxKitTesting",
    dependencies: [
      "PullboxOperatorKit", "PullboxKit", "SandboxStore", "DeliveryService", "DownloadAgent", "ServiceAPI",
      "PullboxAPI", "PullboxAPIClient",
      "Commerce", "ContentPacking", "HTTPClient", "ServiceRuntime", "Files", "SystemCalls", "Crypto",
      "CoreTypes",
      "PullboxTesting",
    ]),
  .target(name: "HTTPTesting", dependencies: ["HTTPParsing"], path: "Tests/HTTPTesting"),
  .target(
    name: "StorageTesting",
    dependencies: [
      "HTTPParsing", "HTTPServer", "ObjectStore", "PackageStorage", "BlobStore", "ServiceRuntime",
      "SystemCalls", "Crypto", "CoreTypes", "PullboxTesting",
    ],
    path: "Tests/StorageTesting"),
  .target(
    name: "DeliveryTesting",
    dependencies: [
      "DeliverySchema", "DeliveryRecords", "Commerce", "Database", "PostgreSQLEngine", "CoreTypes",
      "PullboxTesting",
    ],
    path: "Tests/DeliveryTesting"),
  .target(
    name: "AgentTesting",
    dependencies: [
      "AgentRecords", "ServiceAPI", "PullboxAPI", "PullboxAPIServer", "Commerce", "ContentPackage",
      "Receipts",
      "HTTPServer", "ServiceRuntime", "Crypto", "CoreTypes", "PackageTesting", "PullboxTesting",
    ],
    path: "Tests/AgentTesting"),
]

let tests: [Target] = [
  .testTarget(name: "CoreTypesTests", dependencies: ["CoreTypes", "PullboxTesting"]),
  .testTarget(name: "SystemCallsTests", dependencies: ["Files", "SystemCalls", "PullboxTesting"]),
  .testTarget(name: "CryptoTests", dependencies: ["Crypto"]),
  .testTarget(
    name: "PullboxTestingTests", dependencies: ["PullboxTesting", "Files", "SystemCalls", "CoreTypes"]),
  .testTarget(
    name: "HTTPParsingTests", dependencies: ["HTTPParsing", "CoreTypes", "HTTPTesting", "PullboxTesting"]),
  .testTarget(
    name: "HTTPServerTests",
    dependencies: [
      "HTTPParsing", "HTTPServer", "ServiceRuntime", "CLinux", "Files", "SystemCalls", "CoreTypes",
      "HTTPTesting",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "HTTPClientTests",
    dependencies: [
      "HTTPClient", "ServiceRuntime", "CLinux", "Files", "SystemCalls", "CoreTypes", "PullboxTesting",
    ]),
  .testTarget(
    name: "DatabaseTests", dependencies: ["Database", "Files", "SystemCalls", "CoreTypes", "PullboxTesting"]),
  .testTarget(
    name: "PostgreSQLEngineTests",
    dependencies: [
      "PostgreSQLEngine", "CPostgreSQL", "Database", "SystemCalls", "CoreTypes", "PullboxTesting",
    ]),
  .testTarget(
    name: "BlobStoreTests",
    dependencies: ["BlobStore", "Files", "SystemCalls", "Crypto", "CoreTypes", "PullboxTesting"]),
  .testTarget(
    name: "ServiceRuntimeTests",
    dependencies: ["ServiceRuntime", "CLinux", "Files", "SystemCalls", "CoreTypes", "PullboxTesting"]),
  .testTarget(
    name: "MessageBusTests",
    dependencies: ["MessageBus", "CLinux", "ServiceRuntime", "SystemCalls", "CoreTypes", "PullboxTesting"]),
  .testTarget(
    name: "ObjectStoreTests",
    dependencies: [
      "ObjectStore", "HTTPClient", "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "MonitoringTests",
    dependencies: [
      "Monitoring", "HTTPServer", "Database", "ServiceRuntime", "SystemCalls", "CoreTypes", "PullboxTesting",
    ]),
  .testTarget(
    name: "CommerceTests", dependencies: ["Entitlements", "Commerce", "CoreTypes", "PullboxTesting"]),
  .testTarget(
    name: "ContentPackageTests",
    dependencies: [
      "ContentPackage", "ContentPacking", "Commerce", "Crypto", "Files", "SystemCalls", "CoreTypes",
      "PackageTesting",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "ContentPackingTests",
    dependencies: [
      "ContentPacking", "ContentPackage", "Commerce", "Crypto", "Files", "SystemCalls", "CoreTypes",
      "PackageTesting",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "ReceiptsTests",
    dependencies: ["Receipts", "Commerce", "Crypto", "Files", "SystemCalls", "CoreTypes", "PullboxTesting"]),
  .testTarget(
    name: "PullboxAPITests",
    dependencies: [
      "ServiceAPI", "PullboxAPI", "Entitlements", "Commerce", "Receipts", "Crypto", "CoreTypes",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "CatalogFilesTests",
    dependencies: [
      "CatalogFiles", "ServiceAPI", "PullboxAPI", "Commerce", "ServiceRuntime", "CoreTypes",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "ContentDeliveryTests",
    dependencies: [
      "HTTPParsing", "ContentDelivery", "ServiceAPI", "PullboxAPI", "PullboxAPIServer", "Commerce",
      "HTTPServer",
      "Monitoring",
      "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes", "PullboxTesting",
    ]),
  .testTarget(
    name: "PackageStorageTests",
    dependencies: [
      "HTTPParsing", "PackageStorage", "ContentPackage", "ObjectStore", "BlobStore", "HTTPServer",
      "HTTPClient", "Files", "SystemCalls",
      "Crypto", "CoreTypes", "StorageTesting", "PullboxTesting",
    ]),
  .testTarget(
    name: "DeliveryModelTests",
    dependencies: ["DeliveryModel", "ServiceAPI", "PullboxAPI", "Commerce", "Crypto", "CoreTypes"]),
  .testTarget(
    name: "DeliveryRecordsTests",
    dependencies: [
      "DeliverySchema", "DeliveryModel", "DeliveryRecords", "ServiceAPI", "PullboxAPI", "Commerce",
      "Database",
      "PostgreSQLEngine", "SystemCalls", "Crypto",
      "CoreTypes", "DeliveryTesting", "PullboxTesting",
    ]),
  .testTarget(
    name: "RecordTransferTests",
    dependencies: [
      "DeliverySchema", "RecordTransfer", "DeliveryRecords", "Database", "PostgreSQLEngine", "CoreTypes",
      "DeliveryTesting",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "PaymentStoresTests",
    dependencies: [
      "PaymentStores", "ServiceAPI", "PullboxAPI", "PullboxAPIClient", "Commerce", "Receipts", "HTTPClient",
      "Crypto",
      "CoreTypes",
    ]),
  .testTarget(
    name: "RouteAccessTests",
    dependencies: [
      "RouteAccess", "ContentDelivery", "ServiceAPI", "PullboxAPI", "PullboxAPIServer", "HTTPServer",
      "Crypto", "CoreTypes",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "OperatorConsoleTests",
    dependencies: [
      "OperatorConsole", "RouteAccess", "ContentDelivery", "HTTPParsing", "ServiceAPI", "PullboxAPI",
      "PullboxAPIServer",
      "HTTPServer", "Crypto", "CoreTypes", "PullboxTesting",
    ]),
  .testTarget(
    name: "ContentCatalogTests",
    dependencies: [
      "DeliveryModel", "ContentCatalog", "DeliveryRecords", "ServiceAPI", "PullboxAPI", "Commerce",
      "HTTPServer",
      "Database", "Crypto",
      "CoreTypes", "DeliveryTesting", "PullboxTesting",
    ]),
  .testTarget(
    name: "CatalogFeedsTests",
    dependencies: [
      "HTTPParsing", "CatalogDocuments", "CatalogFeeds", "ContentCatalog", "ContentPackage", "DeliveryModel",
      "DeliveryRecords", "ServiceAPI", "PullboxAPI", "PullboxAPIServer", "Commerce", "HTTPServer",
      "Database",
      "ServiceRuntime", "Crypto", "CoreTypes", "DeliveryTesting", "PullboxTesting",
    ]),
  .testTarget(
    name: "ContentPublishingTests",
    dependencies: [
      "DeliverySchema", "DeliveryModel", "ContentPublishing", "ContentDelivery", "RouteAccess",
      "PackageStorage",
      "DeliveryRecords", "ServiceAPI", "PullboxAPI", "Commerce",
      "HTTPServer", "Database", "BlobStore", "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes",
      "StorageTesting", "DeliveryTesting", "PullboxTesting",
    ]),
  .testTarget(
    name: "ContentGrantsTests",
    dependencies: [
      "DeliverySchema", "DeliveryModel", "ContentGrants", "ContentCatalog", "ContentDelivery",
      "PaymentStores", "DeliveryRecords", "ServiceAPI", "PullboxAPI",
      "Entitlements", "Commerce", "Receipts", "Database", "ServiceRuntime", "Crypto", "CoreTypes",
      "DeliveryTesting",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "PullboxAPIServerTests",
    dependencies: [
      "PullboxAPIServer", "ServiceAPI", "PullboxAPI", "HTTPServer", "Crypto", "CoreTypes", "PullboxTesting",
    ]),
  .testTarget(
    name: "PullboxAPIClientTests",
    dependencies: [
      "PullboxAPIClient", "ServiceAPI", "PullboxAPI", "HTTPServer", "HTTPClient", "ServiceRuntime",
      "CoreTypes",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "DeliveryServiceTests",
    dependencies: [
      "DeliverySchema", "DeliveryModel", "DeliveryService", "CatalogDocuments", "CatalogFeeds",
      "ContentGrants",
      "ContentPublishing", "ContentCatalog", "RouteAccess",
      "ContentDelivery", "PaymentStores", "RecordTransfer", "DeliveryRecords", "ServiceAPI", "PullboxAPI",
      "PullboxAPIServer",
      "PullboxAPIClient", "Commerce", "ContentPackage", "ContentPacking", "Receipts", "Database",
      "PostgreSQLEngine", "HTTPServer", "HTTPParsing", "HTTPClient", "Files", "SystemCalls", "Crypto",
      "CoreTypes",
      "ServiceRuntime",
      "ObjectStore", "BlobStore", "PackageStorage", "Monitoring", "PullboxDoctor", "DeliveryTesting",
      "StorageTesting",
      "PackageTesting", "PullboxTesting", "pullbox-server",
    ]),
  .testTarget(
    name: "AgentRecordsTests",
    dependencies: [
      "AgentRecords", "ServiceAPI", "PullboxAPI", "PullboxAPIClient", "Commerce", "HTTPClient", "Database",
      "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes", "AgentTesting", "PackageTesting",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "ContentLibraryTests",
    dependencies: [
      "ContentLibrary", "AgentRecords", "ServiceAPI", "PullboxAPI", "PullboxAPIClient", "Commerce",
      "ContentPackage",
      "HTTPClient", "Database", "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes",
      "AgentTesting",
      "PackageTesting", "PullboxTesting",
    ]),
  .testTarget(
    name: "MachineConditionSourcesTests",
    dependencies: [
      "MachineConditionSources", "AgentRecords", "MessageBus", "ServiceRuntime", "Files", "SystemCalls",
      "CoreTypes",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "DownloadAgentTests",
    dependencies: [
      "DownloadAgent", "MachineConditionSources", "LibraryCatalog", "CatalogDocuments",
      "ContentLibrary", "AgentRecords", "ServiceAPI", "PullboxAPI",
      "PullboxAPIClient", "PullboxAPIServer", "HTTPServer",
      "HTTPClient", "Commerce", "ContentPackage", "ContentPacking", "MessageBus", "Database",
      "ServiceRuntime",
      "Files", "SystemCalls", "Crypto", "CoreTypes", "AgentTesting", "PackageTesting", "PullboxTesting",
      "pullbox-agent",
    ]),
  .testTarget(
    name: "SandboxRecordsTests",
    dependencies: [
      "SandboxRecords", "ServiceAPI", "PullboxAPI", "Commerce", "HTTPClient", "HTTPServer", "Database",
      "CoreTypes",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "SandboxStoreTests",
    dependencies: [
      "SandboxStore", "SandboxRecords", "Monitoring", "ServiceAPI", "PullboxAPI", "PullboxAPIServer",
      "PullboxAPIClient",
      "Commerce", "Receipts", "HTTPClient", "HTTPServer", "Database", "ServiceRuntime", "Files",
      "SystemCalls",
      "Crypto", "CoreTypes", "PullboxTesting",
    ]),
  .testTarget(
    name: "PullboxKitTests",
    dependencies: [
      "PullboxOperatorKit", "PullboxKit", "PullboxDoctor", "pullbox", "ServiceAPI", "PullboxAPI",
      "PullboxAPIClient", "Entitlements", "Commerce",
      "ContentPackage",
      "HTTPClient",
      "HTTPServer", "ServiceRuntime", "Files", "SystemCalls", "Crypto", "CoreTypes", "PullboxTesting",
    ]),
  .testTarget(
    name: "PullboxKitTestingTests",
    dependencies: [
      "PullboxKitTesting", "PullboxKit", "PullboxAPI", "PullboxAPIClient", "Commerce", "CoreTypes",
      "PullboxTesting",
    ]),
  .testTarget(
    name: "DesktopServiceTests",
    dependencies: [
      "DesktopService", "MessageBus", "ServiceRuntime", "Files", "SystemCalls", "CoreTypes", "PullboxTesting",
      "pullbox-desktop",
    ]),
  .testTarget(
    name: "PullboxDoctorTests",
    dependencies: [
      "PullboxDoctor", "ServiceAPI", "PullboxAPI", "PullboxAPIServer", "HTTPClient", "HTTPServer",
      "Commerce",
      "Files", "SystemCalls", "CoreTypes", "PullboxTesting",
    ]),
  .testTarget(
    name: "BlackBoxTests",
    dependencies: [
      "ServiceAPI", "PullboxAPI", "MessageBus", "HTTPClient", "HTTPServer", "Commerce", "Receipts",
      "Files", "SystemCalls", "Crypto",
      "CoreTypes",
      "PullboxTesting",
      "pullbox", "pullbox-server", "pullbox-agent", "pullbox-desktop", "pullbox-sandbox", "Reader",
      "OneScreen",
    ]),
]

let package = Package(
  name: "pullbox",
  products: [
    .executable(name: "pullbox", targets: ["pullbox"]),
    .executable(name: "pullbox-server", targets: ["pullbox-server"]),
    .executable(name: "pullbox-agent", targets: ["pullbox-agent"]),
    .executable(name: "pullbox-sandbox", targets: ["pullbox-sandbox"]),
    .executable(name: "pullbox-desktop", targets: ["pullbox-desktop"]),
    .library(name: "PullboxKit", targets: ["PullboxKit"]),
    .library(name: "PullboxOperatorKit", targets: ["PullboxOperatorKit"]),
    .library(name: "PullboxKitTesting", targets: ["PullboxKitTesting"]),
  ],
  targets: systemLibraries + groundwork + plumbing + monitoring + domain + contract + delivery + agent
    + sandbox + console + services
    + executables
    + examples + benchmarks + testSupport + tests.filter { onlyTests == nil || $0.name == onlyTests },
  swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
  ]
}
