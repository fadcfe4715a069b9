import CCurl

/// The one place that reads libcurl's results of calls that are not transfers: handles that are not ours trap
/// (it can only be a defect), everything else is thrown with the call's name.
enum CurlCall {
  static func check(_ result: CURLMcode, _ call: StaticString) throws(HTTPClientError) {
    guard result != CURLM_OK else { return }
    precondition(
      result != CURLM_BAD_HANDLE && result != CURLM_BAD_EASY_HANDLE && result != CURLM_RECURSIVE_API_CALL
        && result != CURLM_ADDED_ALREADY,
      "\(call): the handle is not ours to use")
    throw failure(call, unsafe String(cString: curl_multi_strerror(result)))
  }

  static func check(_ result: CURLcode, _ call: StaticString) throws(HTTPClientError) {
    guard result != CURLE_OK else { return }
    throw failure(call, unsafe String(cString: curl_easy_strerror(result)))
  }

  private static func failure(_ call: StaticString, _ reason: String) -> HTTPClientError {
    HTTPClientError(code: .internalFailure, message: "\(call): \(reason)")
  }
}
