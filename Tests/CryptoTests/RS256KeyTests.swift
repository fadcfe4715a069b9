import Crypto
import Testing

@Suite("Keys of RS256")
struct RS256KeyTests {
  private static let key = RS256Key()

  private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64.decode(text, .url)) }

  /// SubjectPublicKeyInfo of the key of RFC 7515 appendix A.2.
  private func known() throws -> RS256PublicKey {
    let modulus = try bytes(
      "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
    )
    let head: [UInt8] = [
      0x30, 0x82, 0x01, 0x22, 0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01,
      0x05, 0x00, 0x03, 0x82, 0x01, 0x0F, 0x00, 0x30, 0x82, 0x01, 0x0A, 0x02, 0x82, 0x01, 0x01, 0x00,
    ]
    let encoded = head + modulus + [0x02, 0x03, 0x01, 0x00, 0x01]
    #expect(RS256PublicKey(subjectPublicKeyInfo: encoded + [0]) == nil)
    #expect(RS256PublicKey(subjectPublicKeyInfo: Array(encoded.dropLast())) == nil)
    let key = try #require(RS256PublicKey(subjectPublicKeyInfo: encoded))
    #expect(key.modulus == modulus && key.exponent == [1, 0, 1])
    return key
  }

  @Test("the signature of RFC 7515 appendix A.2 is valid, and no other")
  func knownSignature() throws {
    let input =
      "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    let signature = try bytes(
      "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
    )
    let key = try known()
    #expect(key.isValid(signature: signature, for: Array(input.utf8)))
    #expect(!key.isValid(signature: signature, for: Array("\(input)A".utf8)))
    #expect(!key.isValid(signature: signature.dropLast(), for: Array(input.utf8)))
    #expect(!key.isValid(signature: [UInt8](repeating: 0, count: 256), for: Array(input.utf8)))
    #expect(!Self.key.publicKey.isValid(signature: signature, for: Array(input.utf8)))
  }

  @Test("a key that was written is read again, and its signatures are as long as the key")
  func written() throws {
    let read = try #require(RS256Key(pem: Self.key.pem))
    let signature = read.sign([1, 2, 3])
    #expect(signature.count == 256)
    #expect(Self.key.publicKey.isValid(signature: signature, for: [1, 2, 3]))
  }

  @Test("a key of another kind, one that is too short, and what is no key, are refused")
  func refused() {
    #expect(RS256Key(pem: ES256Key().pem) == nil)
    #expect(RS256Key(pem: SigningKey().pem) == nil)
    #expect(RS256Key(pem: Self.shortKey) == nil)
    #expect(RS256Key(pem: "") == nil)
    #expect(RS256PublicKey(subjectPublicKeyInfo: []) == nil)
  }

  /// 1024 bits, made by `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024`; it was never used.
  private static let shortKey = """
    -----BEGIN PRIVATE KEY-----
    MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAOK5nvgxok/d017z
    YEtwtXNZ9ik3fQuYfLsr+auu6rfb5JThSgZhZ6yDTzUifubKxBKQR+7QNaNWKVKV
    RPCVTupKa2Zs7MC67QPTincsGYYWgH032PKHO/2vR4oylSJOj1/7mh9icPs7h1cJ
    N6zfyeOKtitSatDPsnN7N74FHSoLAgMBAAECgYEAv0zBjkdK3bqce1Q83sqFv4Ob
    iSFxl9QdAkzTiAG5uFKIZvpEXGfZcx0EOyAVFSTnFYa5uw3hBCVSDoU2OwywHLcG
    wFsIWG2v1L7IxuuM303kzyd11IdJ3SldZBeRqMDkR0Wg/twHS1a5N5Q1tfCop5m1
    9nhWYxPUDsGHf2dgdYkCQQDythZ5zfBCcEQvmKG9XQlYGb/7Gld/nrliuz6jru8s
    aMhvkqXDWprDCjybtbfZHxX4IFS+BIKVrRSZ/uw6RFR3AkEA7yN3SIcRz9mqjMtl
    XkZKgBirw53/702Bw7IzIzU3IEtNs5eRQ7CxGUeNR7qteYYCxN5rXNYjvFUzJqea
    1xogDQJAc2rNo1ygPSff9PZTK5abg+6y0bkEFOco5199eR8OE4M8lXoaI5zpbYhn
    q/AtHi3fJ6BQTBAe/QhSfKyyLz8hHwJBAJhknYtWp/8w0wLOS1b8rFVdY3hRo9u4
    JM21Lelt7CdkVavxFt1wKCvX8SyYxhv/TpxusTSEMlm+Yc5sWLxjJbECQG8UdcbB
    nzPagV+VFVixSPYqiXrxy/ub8JLpRQbM34CC0AlYQbvi0L4TVuaKRN5aYvIu4cvG
    9FgZBGvTozcguYo=
    -----END PRIVATE KEY-----
    """
}
