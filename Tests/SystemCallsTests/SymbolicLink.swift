import Glibc
import SystemCalls

/// symlink(2): the product makes none, the tests need some.
func symbolicLink(to target: String, at path: String) throws(SystemError) {
  try SystemCall.run("symlink", subject: path) { unsafe symlink(target, path) }
}
