public import CofferCore

extension StorageError.Code {
  /// A statement on the application's own tables failed.
  public static let statementFailed = Self("statementFailed")
}
