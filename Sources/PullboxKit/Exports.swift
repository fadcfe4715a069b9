// `import PullboxKit` alone finds every type that its API names. Re-exported imports do that, and not type
// aliases, because they bring the members along: in a file with member import visibility (SE-0444) an alias
// of `ProductIdentifier` would name the type and hide its initializer. Modules that the API uses for one or
// two types export just these, so that names like `Log` and `Service` stay the app's own.
@_exported public import Commerce
@_exported public import CoreTypes
@_exported public import PullboxAPI
@_exported public import PullboxAPIClient

@_exported public import struct Crypto.SHA256Digest
@_exported public import struct HTTPClient.HTTPClientError
