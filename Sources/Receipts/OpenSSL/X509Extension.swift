import COpenSSL

/// Marker extensions, told apart by their object identifiers.
enum X509Extension {
  /// - Parameter identifier: dotted decimal.
  static func isPresent(_ identifier: String, in certificate: OpaquePointer) -> Bool {
    guard let object = unsafe OBJ_txt2obj(identifier, 1) else { return false }
    defer { unsafe ASN1_OBJECT_free(object) }
    return unsafe X509_get_ext_by_OBJ(certificate, object, -1) >= 0
  }
}
