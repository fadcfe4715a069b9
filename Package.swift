// swift-tools-version: 6.2

import PackageDescription

// The floors of the house, from the cellar up; an arrow in `dependencies` only ever points down.
// docs/architecture.md draws the same picture.

let systemLibraries: [Target] = [
  .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
  .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
  .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
  .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
  .systemLibrary(name: "CTLS", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
  .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
  .target(name: "CLinux"),
]

let groundwork: [Target] = [
  .target(name: "Measures"),
  .target(name: "SystemCalls", dependencies: ["CLinux", "Measures"]),
  .target(name: "Digests", dependencies: ["COpenSSL"]),
]

let plumbing: [Target] = [
  .target(name: "HTTPServer", dependencies: ["CLinux", "CTLS", "SystemCalls", "Measures"]),
  .target(name: "HTTPClient", dependencies: ["CCurl", "SystemCalls", "Measures"]),
  .target(name: "Database", dependencies: ["CSQLite", "SystemCalls", "Measures"]),
  .target(name: "BlobStore", dependencies: ["SystemCalls", "Digests", "Measures"]),
  .target(name: "ServiceRuntime", dependencies: ["CLinux", "SystemCalls", "Measures"]),
]

let domain: [Target] = [
  .target(name: "Commerce", dependencies: ["Measures"]),
  .target(
    name: "ContentPackage",
    dependencies: ["Commerce", "CArchive", "CLinux", "CZlib", "Digests", "SystemCalls", "Measures"]),
  .target(name: "Receipts", dependencies: ["Commerce", "COpenSSL", "Digests", "Measures"]),
]

let contract: [Target] = [
  .target(
    name: "PullboxAPI",
    dependencies: ["Commerce", "ContentPackage", "Receipts", "Digests", "Measures"]),
  .target(
    name: "PullboxAPIServer", dependencies: ["PullboxAPI", "HTTPServer", "CZlib", "Digests", "Measures"]),
  .target(name: "PullboxAPIClient", dependencies: ["PullboxAPI", "HTTPClient", "Measures"]),
]

let services: [Target] = [
  .target(
    name: "DeliveryService",
    dependencies: [
      "PullboxAPI", "PullboxAPIServer", "PullboxAPIClient", "Commerce", "ContentPackage", "Receipts", "HTTPServer",
      "HTTPClient", "Database", "BlobStore", "ServiceRuntime", "SystemCalls", "Digests", "Measures",
    ]),
  .target(
    name: "DownloadAgent",
    dependencies: [
      "PullboxAPI", "PullboxAPIServer", "PullboxAPIClient", "Commerce", "ContentPackage", "Receipts", "HTTPServer",
      "HTTPClient", "Database", "ServiceRuntime", "SystemCalls", "Digests", "Measures",
    ]),
  .target(
    name: "SandboxStore",
    dependencies: [
      "PullboxAPI", "PullboxAPIServer", "PullboxAPIClient", "Commerce", "Receipts", "HTTPServer", "HTTPClient",
      "Database", "ServiceRuntime", "SystemCalls", "Digests", "Measures",
    ]),
  .target(
    name: "PullboxKit",
    dependencies: [
      "PullboxAPI", "PullboxAPIClient", "Commerce", "ContentPackage", "HTTPClient", "ServiceRuntime", "SystemCalls",
      "Digests", "Measures",
    ]),
]

let executables: [Target] = [
  .executableTarget(name: "pullbox-server", dependencies: ["DeliveryService", "ServiceRuntime"]),
  .executableTarget(name: "pullbox-agent", dependencies: ["DownloadAgent", "ServiceRuntime"]),
  .executableTarget(name: "pullbox-sandbox", dependencies: ["SandboxStore", "ServiceRuntime"]),
  .executableTarget(
    name: "pullbox",
    dependencies: [
      "PullboxKit", "PullboxAPI", "PullboxAPIClient", "Commerce", "ContentPackage", "HTTPClient", "ServiceRuntime",
      "SystemCalls", "Digests", "Measures",
    ]),
]

let tests: [Target] = [
  .testTarget(name: "MeasuresTests", dependencies: ["Measures", "PullboxTesting"]),
  .testTarget(name: "SystemCallsTests", dependencies: ["SystemCalls", "PullboxTesting"]),
  .testTarget(name: "DigestsTests", dependencies: ["Digests"]),
  .testTarget(
    name: "HTTPServerTests",
    dependencies: ["HTTPServer", "CLinux", "SystemCalls", "Measures", "PullboxTesting"]),
  .testTarget(
    name: "HTTPClientTests",
    dependencies: ["HTTPClient", "ServiceRuntime", "CLinux", "SystemCalls", "Measures", "PullboxTesting"]),
  .testTarget(
    name: "DatabaseTests", dependencies: ["Database", "SystemCalls", "Measures", "PullboxTesting"]),
  .testTarget(
    name: "BlobStoreTests",
    dependencies: ["BlobStore", "SystemCalls", "Digests", "Measures", "PullboxTesting"]),
  .testTarget(
    name: "ServiceRuntimeTests",
    dependencies: ["ServiceRuntime", "CLinux", "SystemCalls", "Measures", "PullboxTesting"]),
  .testTarget(name: "CommerceTests", dependencies: ["Commerce", "Measures", "PullboxTesting"]),
  .testTarget(
    name: "ContentPackageTests",
    dependencies: [
      "ContentPackage", "Commerce", "Digests", "SystemCalls", "Measures", "PullboxTesting",
    ]),
  .testTarget(
    name: "ReceiptsTests",
    dependencies: ["Receipts", "Commerce", "Digests", "SystemCalls", "Measures", "PullboxTesting"]),
  .testTarget(name: "PullboxAPITests", dependencies: ["PullboxAPI", "Commerce", "Measures"]),
  .testTarget(
    name: "DeliveryServiceTests",
    dependencies: [
      "DeliveryService", "PullboxAPI", "PullboxAPIServer", "PullboxAPIClient", "Commerce", "ContentPackage", "Receipts",
      "Database", "HTTPServer", "HTTPClient", "SystemCalls", "Digests", "Measures", "ServiceRuntime",
      "BlobStore", "PullboxTesting", "pullbox-server",
    ]),
  .testTarget(
    name: "DownloadAgentTests",
    dependencies: [
      "DownloadAgent", "PullboxAPI", "PullboxAPIServer", "PullboxAPIClient", "HTTPServer", "HTTPClient", "Commerce",
      "ContentPackage", "Receipts", "ServiceRuntime", "SystemCalls", "Digests", "Measures", "PullboxTesting",
    ]),
  .testTarget(
    name: "SandboxStoreTests",
    dependencies: [
      "SandboxStore", "PullboxAPI", "PullboxAPIServer", "PullboxAPIClient", "Commerce", "Receipts", "HTTPClient",
      "HTTPServer", "Database", "ServiceRuntime", "SystemCalls", "Digests", "Measures", "PullboxTesting",
    ]),
  .testTarget(
    name: "PullboxKitTests",
    dependencies: [
      "PullboxKit", "pullbox", "PullboxAPI", "PullboxAPIClient", "Commerce", "ContentPackage", "HTTPClient",
      "HTTPServer", "ServiceRuntime", "SystemCalls", "Digests", "Measures", "PullboxTesting",
    ]),
  .testTarget(
    name: "BlackBoxTests",
    dependencies: [
      "PullboxAPI", "HTTPClient", "Commerce", "SystemCalls", "Digests", "Measures", "PullboxTesting",
      "pullbox", "pullbox-server", "pullbox-agent", "pullbox-sandbox",
    ]),
]

let package = Package(
  name: "pullbox",
  products: [
    .executable(name: "pullbox", targets: ["pullbox"]),
    .executable(name: "pullbox-server", targets: ["pullbox-server"]),
    .executable(name: "pullbox-agent", targets: ["pullbox-agent"]),
    .executable(name: "pullbox-sandbox", targets: ["pullbox-sandbox"]),
    .library(name: "PullboxKit", targets: ["PullboxKit"]),
  ],
  targets: systemLibraries + groundwork + plumbing + domain + contract + services + executables
    + [.target(name: "PullboxTesting", dependencies: ["CLinux", "CTLS", "Measures", "SystemCalls"])] + tests,
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
