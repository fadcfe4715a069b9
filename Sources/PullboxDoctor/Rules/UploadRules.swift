/// Whether uploads pass: the requests, bodies of some MiB, and bodies as they arrive.
enum UploadRules {
  /// Empty without an operator key. What follows the creation is judged only where that was answered with
  /// 201.
  static func findings(_ seen: ServerObservations) -> [Finding] {
    guard let upload = seen.upload else { return [] }
    guard upload.creation.status == 201 else { return [creation(upload.creation)] }
    return [body(upload), broken(upload)].compactMap { $0 }
  }

  /// `upload`. A refusal of the server's own decides nothing about the proxy.
  private static func creation(_ step: UploadObservation.Step) -> Finding {
    guard let status = step.status else { return Finding("upload", .undetermined, step.message) }
    if step.isProblem {
      return Finding("upload", .undetermined, "the server refuses the upload: \(step.message)")
    }
    switch status {
    case 403, 404:
      return Finding(
        "upload", .warning, "operators' routes are closed here (\(status)): publish by another address")
    case 405, 501: return Finding("upload", .failure, step.message, cause: .methodRefused)
    default: return Finding("upload", .failure, step.message)
    }
  }

  /// `upload`. 403, 405, 413 and 501 that are no problem documents are the proxy's.
  private static func body(_ upload: UploadObservation) -> Finding? {
    guard let step = upload.body else { return nil }
    switch (step.status, step.isProblem) {
    case (204, _): return Finding("upload", .ok, "a body of 4 MiB passes")
    case (413, false):
      return Finding("upload", .failure, "the proxy refuses a body of 4 MiB (413)", cause: .bodyLimited)
    case (403, false), (405, false), (501, false):
      return Finding("upload", .failure, "the proxy refuses PATCH: \(step.message)", cause: .methodRefused)
    case (nil, _): return Finding("upload", .undetermined, step.message)
    default: return Finding("upload", .failure, step.message)
    }
  }

  /// `upload-resumes`; nil where it could not be tried.
  private static func broken(_ upload: UploadObservation) -> Finding? {
    guard let kept = upload.keptOfBroken else { return nil }
    guard kept > 0 else {
      return Finding(
        "upload-resumes", .failure,
        "of a body that broke the server has nothing: the proxy gathers bodies first",
        cause: .requestBuffered)
    }
    return Finding("upload-resumes", .ok, "the server keeps \(kept) bytes of a body that broke")
  }
}
