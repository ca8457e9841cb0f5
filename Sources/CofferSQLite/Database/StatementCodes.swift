public import CofferCore

extension StorageError.Code {
  /// A statement of an application's own tables failed.
  public static let statementFailed = Self("statementFailed")
}
