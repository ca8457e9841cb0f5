extension StorageError {
  /// Whether a commit was refused for what it contains, so that another one may succeed.
  ///
  /// A key is no evidence: engines add it to whatever fails while its value is stored, such as a lack of descriptors.
  package var isAboutContent: Bool {
    let ofContent: [Code] = [.valueTooLarge, .encodingFailed, .decodingFailed, .unsupported, .invalidKey, .newerFormat]
    // A directory, link or pipe has the name of the file of a value.
    return ofContent.contains(code) || (code == .notAStore && key != nil)
  }
}
