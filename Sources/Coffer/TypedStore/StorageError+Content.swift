extension StorageError {
  /// Whether a commit was refused for what it contains, so that another one may succeed. A store that cannot be written
  /// now, or whose commit may have been applied, refuses every commit.
  var isAboutContent: Bool {
    let ofContent: [Code] = [.valueTooLarge, .encodingFailed, .decodingFailed, .unsupported, .invalidKey, .newerFormat]
    let ofStore: [Code] = [.closed, .busy, .diskFull, .readOnly, .unavailable, .outcomeUnknown, .unfinished]
    return ofContent.contains(code) || (key != nil && !ofStore.contains(code))
  }
}
