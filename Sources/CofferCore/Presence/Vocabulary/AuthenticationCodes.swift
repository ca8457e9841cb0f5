extension StorageError.Code {
  /// The user was asked and was not authenticated, such as after wrong passwords. The value was not read.
  public static let authenticationFailed = Self("authenticationFailed")
  /// The user dismissed the question. The value was not read.
  public static let authenticationCancelled = Self("authenticationCancelled")
}

extension StorageError {
  /// Returns the error of a question that was not answered in time.
  package static func unanswered(within duration: Duration) -> StorageError {
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    let time = seconds < 1 ? "\(max(0, Int(seconds * 1_000))) ms" : "\(Int(seconds.rounded())) s"
    return StorageError(
      .unavailable, "The user did not answer the request for authentication within \(time).",
      advice: "The value was not read. Try again when the user is present.")
  }
}
