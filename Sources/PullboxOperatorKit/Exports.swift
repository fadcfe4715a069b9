// `import PullboxOperatorKit` alone finds every type that its API names, as `import PullboxKit` does.
@_exported public import CatalogFiles
@_exported public import Commerce
@_exported public import CoreTypes
@_exported public import PullboxAPI
@_exported public import PullboxAPIClient
@_exported public import ServiceAPI

@_exported public import struct ContentPackage.Manifest
@_exported public import struct Crypto.SHA256Digest
@_exported public import class Crypto.SigningKey
@_exported public import struct HTTPClient.HTTPClientError
