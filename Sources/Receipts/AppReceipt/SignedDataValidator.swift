/// The parts of a CMS message that neither the signature nor the certificates cover: versions, algorithm parameters,
/// places where more could be put. They must be as the standard says, so that no octet of an accepted receipt can
/// differ from what its store wrote.
enum SignedDataValidator {
  /// 1.2.840.113549.1.1.1
  private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

  /// Throws ``ReceiptError`` `malformed`. BER does not pass either: only receipts that no trusted root stands behind
  /// are written in it.
  static func check(_ encoded: [UInt8]) throws {
    var reader = DERReader(encoded)
    var contentInfo = reader.inside(try reader.next(DERTag.sequence))
    try reader.expectEnd()
    _ = try contentInfo.next(DERTag.objectIdentifier)
    var explicit = contentInfo.inside(try contentInfo.next(DERTag.context0))
    try contentInfo.expectEnd()
    var signedData = explicit.inside(try explicit.next(DERTag.sequence))
    try explicit.expectEnd()
    try requireVersion1(&signedData)
    _ = try signedData.next(DERTag.set)  // the digest algorithms
    _ = try signedData.next(DERTag.sequence)  // the content
    _ = try signedData.next(DERTag.context0)  // the certificates
    var signers = signedData.inside(try signedData.next(DERTag.set))
    try signedData.expectEnd()
    let signer = try signers.next(DERTag.sequence)
    try checkSigner(signers.inside(signer))
    try signers.expectEnd()
  }

  private static func checkSigner(_ signer: DERReader) throws {
    var signer = signer
    try requireVersion1(&signer)
    _ = try signer.next(DERTag.sequence)  // issuer and serial number
    _ = try signer.next(DERTag.sequence)  // the digest algorithm
    var next = try signer.next()
    if next.tag == DERTag.context0 { next = try signer.next() }  // signed attributes
    guard next.tag == DERTag.sequence else { throw ReceiptError.malformed("the signer is of no known form") }
    var algorithm = signer.inside(next)
    let identifier = try algorithm.next(DERTag.objectIdentifier)
    guard algorithm.octets(identifier) == rsaEncryption, try algorithm.next(DERTag.null).content.isEmpty
    else { throw ReceiptError.malformed("the signature algorithm is not plain RSA") }
    try algorithm.expectEnd()
    _ = try signer.next(DERTag.octetString)
    try signer.expectEnd()
  }

  private static func requireVersion1(_ reader: inout DERReader) throws {
    guard try reader.integer() == 1 else { throw ReceiptError.malformed("the receipt is of another version") }
  }
}
