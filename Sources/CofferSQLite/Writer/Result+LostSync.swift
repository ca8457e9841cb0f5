import CofferCore

extension Result {
  /// The error of a commit that the device did not confirm; `nil` for any other result.
  var lostSync: StorageError? {
    guard case .failure(let error as StorageError) = self, error.code == .outcomeUnknown else { return nil }
    return error
  }
}
