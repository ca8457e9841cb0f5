extension HelperProcess {
  /// Starts the helper executable of this package, `CofferTestHelper`.
  package convenience init(
    _ arguments: [String], environment: [(String, String)] = [], without absent: [String] = [],
    by launcher: [String] = []
  ) throws {
    try self.init(
      arguments, executable: "CofferTestHelper", environment: environment, without: absent, by: launcher)
  }
}
